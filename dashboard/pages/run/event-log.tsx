import { useMemo, useState } from 'react';
import type { RunEvent, useRunEvents } from '../../api/run-events.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { plainLine } from '../../parts/format.ts';
import { LongJson } from '../../parts/long-text.tsx';
import { Loading } from '../../parts/notice.tsx';
import { ClockTime } from '../../parts/time.tsx';

/** The events as they were recorded, live. */
export function EventLog({ log }: { readonly log: ReturnType<typeof useRunEvents> }) {
  const [shown, setShown] = useState<RunEvent | null>(null);
  const columns = useMemo(() => columnsOf(setShown), []);
  if (log.events.length === 0) return log.error === null && !log.isOver ? <Loading what="events" /> : null;
  return (
    <>
      <DataTable label="Events" columns={columns} rows={log.events} rowKey={({ seq }) => String(seq)} open={setShown} />
      {shown !== null && (
        <Dialog title={`${shown.seq} ${shown.name}`} close={() => setShown(null)}>
          <LongJson value={shown.payload} name={`event-${shown.seq}`} />
        </Dialog>
      )}
    </>
  );
}

function columnsOf(show: (event: RunEvent) => void): readonly Column<RunEvent>[] {
  return [
    { key: 'seq', label: '#', width: '56px', cell: ({ seq }) => seq },
    { key: 'at', label: 'Time', width: '104px', cell: ({ at }) => (at === '' ? null : <ClockTime at={at} />) },
    {
      key: 'name',
      label: 'Event',
      width: 'minmax(160px, 1fr)',
      cell: (event) => (
        <button type="button" className="plain link" onClick={() => show(event)}>
          {event.name}
        </button>
      ),
    },
    {
      key: 'payload',
      label: 'Content',
      width: 'minmax(0, 3fr)',
      wide: true,
      cell: ({ payload: { execution_id: _id, ...rest } }) => plainLine(JSON.stringify(rest, shortened), CELL_CHARS),
    },
  ];
}

const CELL_CHARS = 300;

/** A replacer of JSON: a cell shows the beginning of long texts only. */
const shortened = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > CELL_CHARS ? `${value.slice(0, CELL_CHARS)}…` : value;
