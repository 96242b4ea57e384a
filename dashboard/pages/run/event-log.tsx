import { useState } from 'react';
import type { RunEvent, useRunEvents } from '../../api/run-events.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { jsonText, plainLine, plainText } from '../../parts/format.ts';
import { Loading } from '../../parts/notice.tsx';
import { ClockTime } from '../../parts/time.tsx';

/** The events as they were recorded, live. */
export function EventLog({ log }: { readonly log: ReturnType<typeof useRunEvents> }) {
  const [shown, setShown] = useState<RunEvent | null>(null);
  if (log.events.length === 0) return log.error === null && !log.isOver ? <Loading what="events" /> : null;
  const columns: readonly Column<RunEvent>[] = [
    { key: 'seq', label: '#', width: '56px', cell: ({ seq }) => seq },
    { key: 'at', label: 'Time', width: '104px', cell: ({ at }) => (at === '' ? null : <ClockTime at={at} />) },
    {
      key: 'name',
      label: 'Event',
      width: 'minmax(160px, 1fr)',
      cell: (event) => (
        <button type="button" className="plain link" onClick={() => setShown(event)}>
          {event.name}
        </button>
      ),
    },
    {
      key: 'payload',
      label: 'Content',
      width: 'minmax(0, 3fr)',
      wide: true,
      cell: ({ payload: { execution_id: _id, ...rest } }) => plainLine(JSON.stringify(rest), 300),
    },
  ];
  return (
    <>
      <DataTable label="Events" columns={columns} rows={log.events} rowKey={({ seq }) => String(seq)} open={setShown} />
      {shown !== null && (
        <Dialog title={`${shown.seq} ${shown.name}`} close={() => setShown(null)}>
          <pre tabIndex={0}>{plainText(jsonText(shown.payload)).slice(0, 200_000)}</pre>
        </Dialog>
      )}
    </>
  );
}
