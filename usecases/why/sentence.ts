import { type LinkOf, short, type WhyLink } from './links.ts';

type Run = Extract<WhyLink, { kind: 'execution' | 'workflow' | 'child' | 'judge' }>;

const isRun = (link: WhyLink): link is Run =>
  link.kind === 'execution' || link.kind === 'workflow' || link.kind === 'child' || link.kind === 'judge';

/** Says a chain as one English sentence. A chain that begins with no run says what kept the run from being read. */
export function sentenceOf(chain: readonly WhyLink[], id: string, waiting: boolean): string {
  const [first, ...rest] = chain;
  if (first === undefined || !isRun(first)) {
    const why = chain.map(({ reason }) => reason).join(': ');
    return `What run ${short(id)} waits for could not be read because of ${why}.`;
  }
  return waiting ? waitingSentence(first, rest) : endedSentence(first, rest);
}

const placeOf = ({ iteration }: Run): string => (iteration === null ? '' : ` in iteration ${iteration}`);

const VERBS: Readonly<Record<string, string>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
};

const verbOf = ({ status }: Run): string => VERBS[status ?? ''] ?? 'ended';

/** What is behind a completed run is the error of its last state: its outcome is `failed`. */
const endOf = (run: Run, isLast: boolean): string =>
  run.status === 'completed' && !isLast ? 'ended as failed' : verbOf(run);

/** `Run 12ab… waits in state review for approval 77…`: what is waited for, cause behind cause, in one clause a run. */
function waitingSentence(first: Run, rest: readonly WhyLink[]): string {
  let text = `Run ${short(first.id ?? '')} waits${placeOf(first)}`;
  let hasCause = false;
  rest.forEach((link, at) => {
    const between = hasCause ? ': ' : ' for ';
    if (link.kind === 'state') {
      text += ` in ${link.reason}`;
      return;
    }
    text += `${between}${link.reason}`;
    hasCause = true;
    if (!isRun(link) || at === rest.length - 1) return;
    const hasEnded = VERBS[link.status ?? ''] !== undefined;
    text += `, which ${hasEnded ? verbOf(link) : 'waits'}${placeOf(link)}`;
    hasCause = hasEnded;
  });
  return `${text}.`;
}

/** Behind its run, which names the iteration, an attempt is its error alone. */
const errorOf = ({ id, reason }: LinkOf<'attempt'>, before: WhyLink): string =>
  isRun(before) && String(before.iteration) === id ? reason.replace(`iteration ${id} failed with `, '') : reason;

/** `Run 12ab… failed in state review: child run 34cd… failed in iteration 2: …` */
function endedSentence(first: Run, rest: readonly WhyLink[]): string {
  let text = `Run ${short(first.id ?? '')} ${endOf(first, rest.length === 0)}${placeOf(first)}`;
  rest.forEach((link, at) => {
    if (link.kind === 'state') text += ` in ${link.reason}`;
    else if (isRun(link)) text += `: ${link.reason} ${endOf(link, at === rest.length - 1)}${placeOf(link)}`;
    else text += `: ${link.kind === 'attempt' ? errorOf(link, rest[at - 1] ?? first) : link.reason}`;
  });
  return `${text.replace(/[.\s]+$/, '')}.`;
}
