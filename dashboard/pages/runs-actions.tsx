import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { failureText } from '../api/queries.ts';
import { cancelRun, hasEnded, type Run, removeRun } from '../api/runs.ts';
import { useMay } from '../app/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { plainLine } from '../parts/format.ts';

interface Asked {
  readonly verb: 'Cancel' | 'Delete';
  readonly runs: readonly Run[];
  readonly act: (run: Run) => Promise<unknown>;
}

/** Cancels the running ones and deletes the ended ones of the selected runs. */
export function RunActions({ runs, done }: { readonly runs: readonly Run[]; readonly done: () => void }) {
  const may = useMay();
  const [asked, setAsked] = useState<Asked | null>(null);
  const running = runs.filter((run) => !hasEnded(run));
  const ended = runs.filter(hasEnded);
  return (
    <>
      {may('run') && running.length > 0 && (
        <button type="button" onClick={() => setAsked({ verb: 'Cancel', runs: running, act: cancelRun })}>
          Cancel {count(running.length)}
        </button>
      )}
      {may('write') && ended.length > 0 && (
        <button
          type="button"
          className="danger"
          onClick={() => setAsked({ verb: 'Delete', runs: ended, act: removeRun })}
        >
          Delete {count(ended.length)}
        </button>
      )}
      {asked !== null && (
        <Progress
          {...asked}
          close={(some) => {
            setAsked(null);
            if (some) done();
          }}
        />
      )}
    </>
  );
}

const count = (of: number): string => (of === 1 ? 'run' : `${of} runs`);

const LANES = 6;

interface Counts {
  readonly done: number;
  readonly failures: readonly string[];
}

/** Asks for confirmation once, then handles the runs one by one and shows the progress. */
function Progress({ verb, runs, act, close }: Asked & { readonly close: (some: boolean) => void }) {
  const [counts, setCounts] = useState<Counts | null>(null);
  const queries = useQueryClient();
  const go = async (): Promise<void> => {
    let at: Counts = { done: 0, failures: [] };
    const tell = (next: Partial<Counts>): void => {
      at = { ...at, ...next };
      setCounts(at);
    };
    tell({});
    const waiting = [...runs];
    const lane = async (): Promise<void> => {
      for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
        try {
          await act(run);
          tell({ done: at.done + 1 });
        } catch (error) {
          tell({ failures: [...at.failures, `${run.name} ${run.id.slice(0, 8)}: ${failureText(error)}`] });
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    await queries.invalidateQueries({ queryKey: ['runs'] });
  };
  const total = runs.length;
  const isOver = counts !== null && counts.done + counts.failures.length >= total;
  return (
    <Dialog title={`${verb} ${count(total)}`} close={() => close(counts !== null)}>
      {counts === null ? (
        <>
          <p>
            {verb === 'Cancel'
              ? 'They stop at once, with their children and effects. What they did stays recorded.'
              : 'Their records are removed for good.'}
          </p>
          <div className="actions">
            <button type="button" className="danger" onClick={() => void go()}>
              {verb} {count(total)}
            </button>
            <button type="button" onClick={() => close(false)}>
              Keep
            </button>
          </div>
        </>
      ) : (
        <>
          <progress max={total} value={counts.done + counts.failures.length} aria-label="Progress" />
          <p role="status">
            {counts.done} of {total} done{counts.failures.length > 0 && `, ${counts.failures.length} refused`}
          </p>
          <ul>
            {counts.failures.slice(0, 20).map((text) => (
              <li key={text}>{plainLine(text)}</li>
            ))}
          </ul>
          {isOver && (
            <button type="button" onClick={() => close(true)}>
              Close
            </button>
          )}
        </>
      )}
    </Dialog>
  );
}
