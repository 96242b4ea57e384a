import { useSyncExternalStore } from 'react';

/** A setting of the user, which this browser stores. */
interface Choice<Value extends string> {
  readonly label: string;
  /** The values with their texts; the first one is the default. */
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly chosen: () => Value;
  readonly choose: (value: string) => void;
  /** Writes it to an attribute of the page, for the styles. The default has none. */
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
  // Read once, since every time on a page needs it.
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

/** Format of times on all pages. A tooltip has the local time and UTC, but a touch screen has no tooltips. */
export const TIMES = choiceOf('times', 'Times', [
  ['ago', 'how long ago'],
  ['local', 'local'],
  ['utc', 'UTC'],
]);

export const CHOICES = [THEME, TIMES] as const;

export type Times = ReturnType<typeof TIMES.chosen>;

export const useChoice = <Value extends string>({ subscribe, chosen }: Choice<Value>): Value =>
  useSyncExternalStore(subscribe, chosen);
