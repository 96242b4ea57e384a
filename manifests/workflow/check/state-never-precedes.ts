import { type Hit, quoted, type Rule } from './rule.ts';
import { RESERVED } from './scope-shape.ts';
import type { Subject } from './subject.ts';
import type { ReadText } from './texts.ts';

export const stateNeverPrecedes: Rule = {
  id: 'state_never_precedes',
  cure: 'Name a state that runs before this one on some way, or change the transitions.',
  *check(subject) {
    const { flow, texts } = subject;
    const sources = {
      hears: statesWithFeedback(subject),
      humans: [...flow.states].filter(([, { kind }]) => kind === 'Human').map(([name]) => name),
    };
    for (const text of texts) {
      if (!flow.reachable.has(text.state)) continue;
      for (const { path, conditional } of text.references) {
        // Who tests for it, or has a default, knows that it may be missing.
        if (conditional) continue;
        const hit = early(path, text, subject, sources);
        if (hit !== null) yield hit;
      }
    }
  },
};

interface Sources {
  /** States into which some transition carries feedback. */
  readonly hears: ReadonlySet<string>;
  readonly humans: readonly string[];
}

function early(
  [root = '', key]: readonly string[],
  text: ReadText,
  { flow }: Subject,
  { hears, humans }: Sources,
): Hit | null {
  const { state, path } = text;
  const ran = (earlier: string): boolean =>
    (text.when === 'after' && earlier === state) || flow.precedes(earlier, state);
  if (root === 'state' && key === 'feedback' && !hears.has(state))
    return {
      path,
      message: `no transition to state ${quoted(state)} carries feedback`,
      cure: 'Add `feedback` to the transition that leads here.',
    };
  if (root === 'human' && !humans.some(ran))
    return { path, message: `no Human state can have run before state ${quoted(state)}` };
  if (RESERVED.has(root) || !flow.states.has(root) || ran(root)) return null;
  return { path, message: `state ${quoted(root)} can never have run before state ${quoted(state)}` };
}

/** Targets of a transition that has feedback. */
function statesWithFeedback({ flow }: Subject): ReadonlySet<string> {
  return new Set(
    [...flow.states.values()].flatMap(({ transitions }) =>
      transitions.filter(({ feedback }) => feedback !== undefined).map(({ target }) => target),
    ),
  );
}
