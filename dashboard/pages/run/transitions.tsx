import type { TransitionFate, Tried } from '../../api/transitions.ts';
import { plainLine, plainText } from '../../parts/format.ts';
import { PlainTable } from '../../parts/plain-table.tsx';
import { Status } from '../../parts/status.tsx';

/** Each transition of the workflow: taken or not, with the reason, the test of its condition and the values that it read. */
export function Transitions({ fates }: { readonly fates: readonly TransitionFate[] }) {
  if (fates.length === 0) return null;
  return (
    <>
      <h2>Transitions</h2>
      <PlainTable
        label="Transitions"
        rows={fates}
        rowKey={({ key }) => key}
        columns={[
          ['Transition', ({ from, to }) => `${plainLine(from, 60)} → ${plainLine(to, 60)}`],
          ['Taken', (fate) => <Taken fate={fate} />],
          ['Condition', (fate) => <Condition fate={fate} />],
          ['Tested value', ({ last }) => <Saw tried={last} />],
          ['Why not taken', ({ why, last }) => <WhyNot why={why} error={last?.error} />],
        ]}
      />
    </>
  );
}

function Taken({ fate: { taken, ends, why } }: { readonly fate: TransitionFate }) {
  const status = why === null ? 'completed' : 'not taken';
  return (
    <Status status={status} label={ends > 1 ? `${taken} of ${ends} times` : taken === 1 ? 'taken' : 'not taken'} />
  );
}

function Condition({ fate: { condition, last } }: { readonly fate: TransitionFate }) {
  const test = last?.test ?? '';
  return (
    <>
      {plainLine(condition, 40)}
      {test !== '' && test !== 'true' && (
        <div>
          <code>{plainText(test)}</code>
        </div>
      )}
    </>
  );
}

function Saw({ tried }: { readonly tried: Tried | null }) {
  return tried?.saw.map(({ path, value }) => (
    <div key={path}>
      <code>
        {plainLine(path, 200)} = {plainLine(value, 260)}
      </code>
    </div>
  ));
}

function WhyNot({ why, error }: { readonly why: string | null; readonly error: string | undefined }) {
  return (
    <>
      {why !== null && plainLine(why, 400)}
      {error !== undefined && <div className="quiet">{plainText(error)}</div>}
    </>
  );
}
