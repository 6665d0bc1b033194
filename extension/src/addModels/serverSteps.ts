/** The pages that ask which server has the models. */
import * as l10n from "@vscode/l10n";
import type { Preset } from "../presets.generated";
import type { LocalModelResult } from "../protocol.generated";
import { hostOf, isLoopback, isUnprotected, withScheme, wrongAddress } from "./address";
import { type Answers, ofServer } from "./answers";
import type { Item, Reply } from "./dialog";
import { type Move, type Step, type StepContext, then, to } from "./step";

const OTHER = "other";
const OWN = "own";
/** The model in the sidecar, by the source of its provider. */
interface Inside {
  readonly source: string;
}
type Place = Preset | Inside | typeof OTHER | typeof OWN;

export const server: Step = {
  isPlace: true,
  async run({ answers, heading, dialog, world }) {
    const local = world.presets.filter(({ isLocal }) => isLocal);
    const [answering, inside] = await Promise.all([world.probe(local.map(usualAddress)), world.localModel()]);
    const reply = await dialog.choose<Place>({
      ...heading(1),
      placeholder: l10n.t("Where are the models?"),
      prompt: "",
      sections: [
        { title: l10n.t("On this machine"), items: [...insideItems(inside), ...localItems(local, answering)] },
        // Before the many, so that it is easy to find.
        { title: l10n.t("Anywhere"), items: elsewhere() },
        { title: l10n.t("In the cloud"), items: world.presets.filter(({ isLocal }) => !isLocal).map(cloudItem) },
      ],
    });
    return then(reply, (place) => afterPlace(answers, place));
  },
};

function elsewhere(): readonly Item<Place>[] {
  return [
    { label: l10n.t("Another server…"), description: l10n.t("by its address"), value: OTHER },
    { label: l10n.t("A Python file…"), description: l10n.t("a provider of your own"), value: OWN },
  ];
}

/** Only where it is installed: the page on VS Code says how. */
function insideItems({ name, source }: LocalModelResult): readonly Item<Place>[] {
  if (name === null || source === null) return [];
  const description = l10n.t("a small model in Partstream itself: no server, no key");
  return [{ label: name, description, value: { source } }];
}

/** Those that answer come first, with a sign. */
function localItems(presets: readonly Preset[], answering: ReadonlySet<string>): Item<Place>[] {
  const answers = (preset: Preset): boolean => answering.has(usualAddress(preset));
  const sorted = [...presets.filter(answers), ...presets.filter((preset) => !answers(preset))];
  return sorted.map((preset) => ({
    label: preset.title,
    description: answers(preset) ? l10n.t`${usualAddress(preset)}  $(check) answers` : usualAddress(preset),
    value: preset,
  }));
}

function cloudItem(preset: Preset): Item<Place> {
  return { label: preset.title, description: hostOf(usualAddress(preset)), value: preset };
}

/** Where it mostly is: of a server that everybody has at another address, an example. */
function usualAddress({ baseUrl, addressExample }: Preset): string {
  return baseUrl === "" ? addressExample : baseUrl;
}

function afterPlace(answers: Answers, place: Place): Move {
  if (place === OWN) return { to: "own provider" };
  if (place === OTHER) return to("address", { ...answers, preset: undefined });
  if ("source" in place) return { to: "local model", source: place.source };
  if (place.baseUrl === "") return to("address", ofServer(answers, place, place.isLocal ? place.addressExample : ""));
  if (place.regions.length > 0) return to("region", ofServer(answers, place, place.baseUrl));
  return to(place.isLocal ? "trial" : "key", ofServer(answers, place, place.baseUrl));
}

export const region: Step = {
  isPlace: true,
  async run({ answers, heading, dialog }) {
    const regions = answers.preset?.regions ?? [];
    const reply = await dialog.choose<string>({
      ...heading(1),
      placeholder: l10n.t`In which region is your account at ${answers.preset?.title ?? l10n.t("the server")}?`,
      prompt: "",
      sections: [
        {
          title: "",
          items: regions.map(({ title, baseUrl }) => ({ label: title, description: hostOf(baseUrl), value: baseUrl })),
        },
      ],
    });
    return then(reply, (baseUrl) => to("key", ofServer(answers, answers.preset, baseUrl)));
  },
};

export const address: Step = {
  isPlace: true,
  async run({ answers, heading, dialog }) {
    const example = answers.preset?.addressExample ?? "";
    const reply = await dialog.ask({
      ...heading(1),
      prompt: l10n.t`The address of ${answers.preset?.title ?? l10n.t("the server")}, its base URL`,
      placeholder: example === "" ? "https://api.example.com/v1" : example,
      value: answers.baseUrl,
      isSecret: false,
      buttons: [],
      refuse: wrongAddress,
    });
    return then(reply, (text) => afterAddress(answers, text as string));
  },
};

function afterAddress(answers: Answers, text: string): Move {
  const written = withScheme(text);
  const next = ofServer(answers, answers.preset, written);
  if (isUnprotected(written) && !next.allowsInsecureHttp) return to("unprotected", next);
  return afterAddressIsGood(next);
}

/** A server on this machine rarely wants a key; it says so when it does. */
function afterAddressIsGood(answers: Answers): Move {
  return to(isLoopback(new URL(answers.baseUrl).hostname) ? "trial" : "key", answers);
}

export const unprotected: Step = {
  isPlace: false,
  async run(context) {
    const reply = await askWhetherUnprotected(context);
    return then(reply, (isAllowed) => {
      const { answers } = context;
      return isAllowed ? to("key", { ...answers, allowsInsecureHttp: true }) : to("address", answers);
    });
  },
};

function askWhetherUnprotected({ answers, heading, dialog }: StepContext): Promise<Reply<boolean>> {
  return dialog.choose<boolean>({
    ...heading(1),
    placeholder: l10n.t("Allow unencrypted HTTP?"),
    prompt: l10n.t`${hostOf(answers.baseUrl)} is another machine, and http:// is not encrypted: anyone on the network can read keys and prompts.`,
    sections: [
      {
        title: "",
        items: [
          {
            label: l10n.t("Change the address"),
            detail: l10n.t("Use https:// if the server supports it"),
            value: false,
          },
          {
            label: l10n.t("Allow HTTP for this server"),
            detail: l10n.t("For trusted networks only"),
            value: true,
          },
        ],
      },
    ],
  });
}
