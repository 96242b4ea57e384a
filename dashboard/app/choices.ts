import { useSyncExternalStore } from 'react';

/** Something that a user chooses for this browser, which keeps it. */
interface Choice<Value extends string> {
  readonly label: string;
  /** Each value with its text; the first one is the usual one. */
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly chosen: () => Value;
  readonly choose: (value: string) => void;
  /** Makes it an attribute of the page, for the styles. The usual value has none. */
  readonly apply: () => void;
  readonly subscribe: (listener: () => void) => () => void;
}

function choiceOf<const Value extends string>(
  name: string,
  label: string,
  options: readonly [readonly [value: Value, text: string], ...(readonly (readonly [value: Value, text: string])[])],
): Choice<Value> {
  const key = `svc-${name}`;
  const [[usual]] = options;
  const known = (text: string | null): Value => options.find(([value]) => value === text)?.[0] ?? usual;
  const listeners = new Set<() => void>();
  // Read once: each time on a page asks for it.
  let chosen = known(localStorage.getItem(key));
  const apply = (): void => {
    if (chosen === usual) delete document.documentElement.dataset[name];
    else document.documentElement.dataset[name] = chosen;
  };
  return {
    label,
    options,
    chosen: () => chosen,
    choose(value) {
      chosen = known(value);
      localStorage.setItem(key, chosen);
      apply();
      for (const listener of listeners) listener();
    },
    apply,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const THEME = choiceOf('theme', 'Theme', [
  ['system', 'as your system'],
  ['light', 'light'],
  ['dark', 'dark'],
]);

/** How all pages show moments. A tooltip has the local time and UTC, but a touch screen has no tooltips. */
export const TIMES = choiceOf('times', 'Times', [
  ['ago', 'how long ago'],
  ['local', 'local'],
  ['utc', 'UTC'],
]);

export const CHOICES = [THEME, TIMES] as const;

export type Times = ReturnType<typeof TIMES.chosen>;

export const useChoice = <Value extends string>({ subscribe, chosen }: Choice<Value>): Value =>
  useSyncExternalStore(subscribe, chosen);
