import { type ChangeObject, diffLines } from 'diff';
import { type ReactNode, useMemo, useState } from 'react';
import { counted, formatCount, plainText } from './format.ts';

/** Time limit of a comparison: texts without a common line would block the page for minutes. */
const MOST_MS = 500;
const MOST_CHARS = 2_000_000;

/** Equal lines shown around a change when a text is too long to be shown whole. */
const NEAR = 3;
const WHOLE_LINES = 1_000;
/** Maximum number of lines in the document at once. */
const MOST_LINES = 2_000;
const LINE_CHARS = 2_000;

interface Line {
  readonly sign: '+' | '−' | ' ' | '…';
  readonly text: string;
}

/** The lines that differ between two texts; marked by signs as well as by colour. */
export function Differences({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const lines = useMemo(() => linesOf(before, after), [before, after]);
  const [isAll, setIsAll] = useState(false);
  if (before === after) return <p className="quiet">No difference.</p>;
  if (lines === null) return <p className="quiet">Too long or too different to compare here.</p>;
  const most = isAll ? 10 * MOST_LINES : MOST_LINES;
  return (
    <>
      <figure className="differences" aria-label={label}>
        {lines.slice(0, most).map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other identity than its place.
          <OneLine key={at} line={line} />
        ))}
      </figure>
      {lines.length > most && (
        <div className="long-foot quiet">
          The first {formatCount(most)} of {formatCount(lines.length)} lines.{' '}
          {!isAll && (
            <button type="button" onClick={() => setIsAll(true)}>
              Show more
            </button>
          )}
        </div>
      )}
    </>
  );
}

const CLASSES = { '+': 'added', '−': 'removed', ' ': 'same', '…': 'folded quiet' } as const;

function OneLine({ line: { sign, text } }: { readonly line: Line }): ReactNode {
  return (
    <div className={CLASSES[sign]}>
      <span aria-hidden="true">{sign}</span>
      {sign === '+' && <span className="unseen">added: </span>}
      {sign === '−' && <span className="unseen">removed: </span>}
      {text}
    </div>
  );
}

/** Null where a comparison would take too long. */
function linesOf(before: string, after: string): readonly Line[] | null {
  if (before === after) return [];
  if (before.length + after.length > MOST_CHARS) return null;
  const parts: readonly ChangeObject<string>[] | undefined = diffLines(before, after, { timeout: MOST_MS });
  if (parts === undefined) return null;
  const count = parts.reduce((sum, { count: lines }) => sum + lines, 0);
  return parts.flatMap(({ value, added, removed }, at): Line[] => {
    const texts = value.replace(/\n$/, '').split('\n');
    if (added || removed) return texts.map((text) => ({ sign: added ? '+' : '−', text: shown(text) }));
    if (count <= WHOLE_LINES || texts.length <= 2 * NEAR + 1)
      return texts.map((text) => ({ sign: ' ', text: shown(text) }));
    const head = at === 0 ? [] : texts.slice(0, NEAR);
    const tail = at === parts.length - 1 ? [] : texts.slice(-NEAR);
    const hidden = texts.length - head.length - tail.length;
    return [
      ...head.map((text): Line => ({ sign: ' ', text: shown(text) })),
      { sign: '…', text: counted(hidden, 'equal line', 'equal lines') },
      ...tail.map((text): Line => ({ sign: ' ', text: shown(text) })),
    ];
  });
}

const shown = (text: string): string =>
  plainText(
    text.length <= LINE_CHARS ? text : `${text.slice(0, LINE_CHARS)}… (${formatCount(text.length)} characters)`,
  );
