import { diffLines } from 'diff';
import { plainText } from './format.ts';

const MOST_CHARS = 200_000;

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
  if (before === after) return <p className="quiet">No difference.</p>;
  if (before.length + after.length > MOST_CHARS) return <p className="quiet">Too long to compare here.</p>;
  const parts = diffLines(plainText(before), plainText(after));
  return (
    <figure className="differences" aria-label={label}>
      {parts.flatMap(({ value, added, removed }, part) =>
        value
          .replace(/\n$/, '')
          .split('\n')
          .map((line, index) => {
            const sign = added ? '+' : removed ? '−' : ' ';
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other identity than its place.
              <div key={`${part} ${index}`} className={added ? 'added' : removed ? 'removed' : 'same'}>
                <span aria-hidden="true">{sign}</span>
                {sign !== ' ' && <span className="unseen">{added ? 'added: ' : 'removed: '}</span>}
                {line}
              </div>
            );
          }),
      )}
    </figure>
  );
}
