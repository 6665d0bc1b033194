"""A function of the owner's own that looks at every request of a hub: it lets it pass, changes it, or refuses it.

::

    from partstream.hub.policy import Changed, PolicyRequest, Refusal

    def before_request(request: PolicyRequest) -> Changed | Refusal | None:
        if request.team == "interns" and request.model == "large":
            return Refusal("Interns use `small`; ask your mentor.")
        return Changed(max_output_tokens=4000)
"""

from partstream.hub.policy.values import Changed, PolicyAnswer, PolicyRequest, Refusal

__all__ = ["Changed", "PolicyAnswer", "PolicyRequest", "Refusal"]
