/** Announces changes to people who do not see them: one polite live region, and the sentence of a selected event. */
{
  const region = inspect.element("p", { class: "unseen", role: "status", "aria-live": "polite" });

  /** Says a sentence as soon as the reader is done with what it says. @param {string} sentence */
  inspect.announce = (sentence) => {
    if (!region.isConnected) document.body.append(region);
    region.textContent = inspect.visible(sentence);
  };

  /** What a person hears of an event: "event 42, text, response.delta, plus 1,204 ms, gap 600 ms, breaks x.y".
   * @param {EventView} event */
  inspect.sentenceOf = (event) => {
    const { answer } = inspect.state;
    const gap = answer?.gaps.find((one) => one.before === event.n);
    const broken = event.violations.map((place) => answer?.violations[place]?.rule);
    return [
      `event ${inspect.number(event.n)}`,
      ...(event.count > 1 ? [`and ${inspect.number(event.count - 1)} more of its kind`] : []),
      event.kind,
      ...(event.type === event.kind ? [] : [event.type]),
      ...(event.at === null ? [] : [`plus ${inspect.time(event.at)}`]),
      ...(gap ? [`${gap.stall ? "stall" : "gap"} ${inspect.time(gap.ms)}`] : []),
      ...broken.map((rule) => `breaks ${rule}`),
    ].join(", ");
  };

  inspect.on("select", ({ n, origin }) => {
    const event = n === null ? null : inspect.eventAt(n);
    if (event && origin !== "play") inspect.announce(inspect.sentenceOf(event));
  });
}
