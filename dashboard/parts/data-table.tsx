import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, type ReactNode, useMemo, useRef, useSyncExternalStore } from 'react';

export interface Column<Row> {
  readonly key: string;
  readonly label: ReactNode;
  /** A track of a CSS grid: `120px`, `minmax(160px, 2fr)`. */
  readonly width: string;
  /** Hidden below 720 px. */
  readonly wide?: boolean;
  readonly cell: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Opens a row, by click or Enter. */
  readonly open?: (row: Row) => void;
  readonly isMarked?: (row: Row) => boolean;
  /** Called when the last rows come into view. */
  readonly more?: () => void;
}

const ROW_PX = 34;
const narrow = window.matchMedia('(max-width: 720px)');

/** Whether the window is narrow; a phone is turned, a window is resized. */
const useNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener);
      return () => narrow.removeEventListener('change', listener);
    },
    () => narrow.matches,
  );

/** Least width of the columns with their gaps, px: below it the table scrolls sideways. */
const leastWidth = (columns: readonly { readonly width: string }[]): number =>
  columns.reduce((sum, { width }) => sum + 12 + Number(/(\d+)px/.exec(width)?.[1] ?? OTHER_PX), 24);

/** Of a column whose width is a variable or a share. */
const OTHER_PX = 96;

/** A table with only the visible rows in the document, so that 100,000 cost as much as 50. */
export function DataTable<Row>({ label, columns, rows, rowKey, open, isMarked, more }: DataTableProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : rowKey(row);
    },
  });
  const isNarrow = useNarrow();
  const shown = useMemo(() => columns.filter(({ wide }) => wide !== true || !isNarrow), [columns, isNarrow]);
  const minWidth = leastWidth(shown);
  const opens = useRef(open);
  opens.current = open;
  const grid = { gridTemplateColumns: shown.map(({ width }) => width).join(' ') };
  const items = virtual.getVirtualItems();
  if (more !== undefined && rows.length > 0 && (items.at(-1)?.index ?? 0) > rows.length - 20) queueMicrotask(more);
  return (
    <div className="data-table" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" style={{ minWidth }}>
        <div className="data-head" role="row" aria-rowindex={1} style={grid}>
          {shown.map(({ key, label: text }) => (
            <div key={key} role="columnheader">
              {text}
            </div>
          ))}
        </div>
      </div>
      <div ref={scroller} className="data-body" style={{ minWidth }} role="rowgroup" tabIndex={0} onKeyDown={stepRows}>
        <div role="presentation" className="data-space" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <OneRow
                key={key}
                row={row}
                index={index}
                start={start}
                columns={shown}
                isMarked={isMarked?.(row) === true}
                opens={opens}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface OneRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly start: number;
  readonly columns: readonly Column<Row>[];
  readonly isMarked: boolean;
  readonly opens: { readonly current: ((row: Row) => void) | undefined };
}

function PlainRow<Row>({ row, index, start, columns, isMarked, opens }: OneRowProps<Row>) {
  const gridTemplateColumns = columns.map(({ width }) => width).join(' ');
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row is the way by keyboard.
    <div
      role="row"
      aria-rowindex={index + 2}
      className={isMarked ? 'data-row marked' : 'data-row'}
      style={{ gridTemplateColumns, transform: `translateY(${start}px)` }}
      onClick={(event) => {
        if (!isControl(event.target) && getSelection()?.type !== 'Range') opens.current?.(row);
      }}
    >
      {columns.map(({ key, cell }) => (
        <div key={key} role="cell">
          {cell(row)}
        </div>
      ))}
    </div>
  );
}

/** A row is only drawn again after a change. */
const OneRow = memo(PlainRow) as typeof PlainRow;

const isControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input, label') !== null;

/** Up and down go from row to row. */
function stepRows(event: KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (step === undefined || event.metaKey || event.ctrlKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('.data-row a')];
  const at = links.findIndex((link) => link.matches(':focus'));
  const next = links[at === -1 ? 0 : at + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
}
