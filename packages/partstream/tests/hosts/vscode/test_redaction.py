from partstream.vscode.failures import GroupSecrets


def _taught(**configuration):
    redactor = GroupSecrets()
    redactor.learn({"id": "g", "configuration": configuration})
    return redactor


def test_keys_and_header_values_are_taken_out_with_and_without_their_scheme():
    redactor = _taught(apiKey="sk-1234", headers={"Authorization": "Bearer tok-5678", "X": "plain-value"})
    assert redactor.redact("sk-1234 tok-5678 Bearer tok-5678 plain-value rest") == (
        "[redacted] [redacted] [redacted] [redacted] rest"
    )


def test_a_secret_that_begins_with_another_is_taken_out_whole():
    redactor = _taught(apiKey="sk-1234", headers={"k": "sk-1234-long"})
    assert redactor.redact("sk-1234-long") == "[redacted]"


def test_nothing_else_is_touched():
    redactor = _taught(apiKey="", headers={"a": "x", "n": 7}, baseUrl="http://host")
    redactor.learn(None)
    assert redactor.redact("x http://host 7") == "x http://host 7"


def test_the_texts_of_an_errors_data_are_redacted():
    data = {"message": "bad sk-1234", "httpStatus": 401, "provider": None}
    assert _taught(apiKey="sk-1234").redact_values(data) == {
        "message": "bad [redacted]",
        "httpStatus": 401,
        "provider": None,
    }
