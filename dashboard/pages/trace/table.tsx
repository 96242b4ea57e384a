import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Search } from '../../app/search-params.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatDuration, plainLine } from '../../parts/format.ts';
import { Status } from '../../parts/status.tsx';
import type { TraceModel } from '../../trace/model.ts';
import { type RunNames, runNameOf } from '../../trace/selection.ts';
import type { TraceView } from './use-trace.ts';

/** The deliveries of the picture, as text. */
export function DeliveryTable({ view, select }: { readonly view: TraceView; readonly select: (one: number) => void }) {
  const { model, order, selected, runNames } = view;
  const rows = useMemo(() => Array.from(order), [order]);
  const columns = useMemo(() => columnsOf(model, runNames), [model, runNames]);
  return (
    <DataTable
      label="Deliveries"
      columns={columns}
      rows={rows}
      rowKey={String}
      isMarked={(one) => one === selected}
      open={select}
    />
  );
}

const columnsOf = (model: TraceModel, runNames: RunNames): readonly Column<number>[] => [
  {
    key: 'at',
    label: 'After',
    width: '88px',
    cell: (one) => <span className="figures">{formatDuration(model.time.at(one) - model.startedAt)}</span>,
  },
  {
    key: 'type',
    label: 'Message',
    width: 'minmax(110px, 1fr)',
    cell: (one) => (
      <Link to="." search={(before: Search) => ({ ...before, m: model.idOf(one) })} replace>
        {plainLine(model.name(model.type.at(one)) ?? '', 80)}
      </Link>
    ),
  },
  {
    key: 'to',
    label: 'To',
    width: 'minmax(140px, 2fr)',
    cell: (one) => {
      const address = model.name(model.to.at(one)) ?? '';
      const name = runNameOf(address, runNames);
      return (
        <>
          {name !== undefined && `${plainLine(name, 60)} `}
          <code className={name === undefined ? '' : 'quiet'}>{plainLine(address, 120)}</code>
        </>
      );
    },
  },
  {
    key: 'from',
    label: 'From',
    width: 'minmax(0, 1.5fr)',
    wide: true,
    cell: (one) => <code className="quiet">{plainLine(model.name(model.from.at(one)) ?? '–', 120)}</code>,
  },
  {
    key: 'outcome',
    label: 'Outcome',
    width: '120px',
    cell: (one) => <Status status={model.outcomeOf(one).replace('-', '_')} label={model.outcomeOf(one)} />,
  },
  {
    key: 'attempt',
    label: 'Attempt',
    width: '64px',
    wide: true,
    cell: (one) => <span className="figures">{model.attempt.at(one)}</span>,
  },
  {
    key: 'wait',
    label: 'Waited',
    width: '80px',
    wide: true,
    cell: (one) => <span className="figures">{formatDuration(model.wait.at(one))}</span>,
  },
  {
    key: 'turn',
    label: 'Turn',
    width: '80px',
    wide: true,
    cell: (one) => <span className="figures">{formatDuration(model.turn.at(one))}</span>,
  },
  {
    key: 'node',
    label: 'Node',
    width: '112px',
    wide: true,
    cell: (one) => plainLine(model.name(model.node.at(one)) ?? '–', 40),
  },
];
