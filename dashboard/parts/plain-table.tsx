import type { ReactNode } from 'react';

interface PlainTableProps<Row> {
  readonly label: string;
  readonly columns: readonly (readonly [label: string, cell: (row: Row) => ReactNode])[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/** A table of few rows, whose cells may have several lines. */
export function PlainTable<Row>({ label, columns, rows, rowKey }: PlainTableProps<Row>) {
  return (
    <div className="table-scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="plain">
        <thead>
          <tr>
            {columns.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(([name, cell]) => (
                <td key={name}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
