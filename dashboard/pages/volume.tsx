import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { api } from '../api/queries.ts';
import { useFilters } from '../app/use-filters.ts';
import { formatBytes, plainLine, plainText } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { TimeAgo } from '../parts/time.tsx';

const SHOWN_BYTES = 64 * 1_024;
/** A file is transferred whole: a larger one is not read to show its beginning. */
const MOST_BYTES = 16 * 1_024 * 1_024;

/** The files of a volume, and the beginning of one of them. */
export function VolumePage() {
  const { id = '' } = useParams({ strict: false });
  const [{ path = '/', file = '' }] = useFilters();
  const volume = useQuery({ queryKey: ['volume', id], queryFn: () => api.volumes.get({ id }) });
  const read = useQuery({ queryKey: ['files', id, path], queryFn: () => api.volumeFiles.list({ id, path }) });
  const within = (name: string): string => `${path.replace(/\/$/, '')}/${name}`;
  const parent = path.slice(0, path.replace(/\/$/, '').lastIndexOf('/')) || '/';
  return (
    <>
      <PageHead title={volume.data?.name ?? 'Volume'} note={plainLine(path)} />
      {path !== '/' && (
        <Link to="." search={{ path: parent }}>
          Up
        </Link>
      )}
      <ReadState of={read} what="files" />
      {read.data?.entries.length === 0 && <Empty title="This folder is empty." />}
      {read.data !== undefined && read.data.entries.length > 0 && (
        <PlainTable
          label="Files"
          rows={read.data.entries}
          rowKey={({ name }) => name}
          columns={[
            [
              'Name',
              ({ name, kind }) =>
                kind === 'directory' ? (
                  <Link to="." search={{ path: within(name) }}>
                    {plainLine(name, 120)}/
                  </Link>
                ) : (
                  <Link to="." search={{ path, file: within(name) }}>
                    {plainLine(name, 120)}
                  </Link>
                ),
            ],
            ['Kind', ({ kind }) => kind],
            ['Size', ({ size_bytes }) => <span className="figures">{formatBytes(size_bytes)}</span>],
            ['Changed', ({ modified_at }) => <TimeAgo at={modified_at} />],
          ]}
        />
      )}
      {read.data?.truncated === true && <p className="quiet">Only the first 1,000 entries are shown.</p>}
      {file !== '' && read.data !== undefined && (
        <FileText
          id={id}
          path={file}
          size={read.data.entries.find(({ name }) => within(name) === file)?.size_bytes ?? 0}
        />
      )}
    </>
  );
}

interface FileTextProps {
  readonly id: string;
  readonly path: string;
  readonly size: number;
}

function FileText({ id, path, size }: FileTextProps) {
  const read = useQuery({
    queryKey: ['file', id, path],
    enabled: size <= MOST_BYTES,
    queryFn: async () => {
      const bytes = await api.volumeFiles.read({ id, path });
      return { size: bytes.length, text: new TextDecoder().decode(bytes.subarray(0, SHOWN_BYTES)) };
    },
  });
  return (
    <>
      <h2>{plainLine(path)}</h2>
      {size > MOST_BYTES ? (
        <p className="quiet">
          It has {formatBytes(size)}, too much to be shown here. Save it in a terminal: <code>svc volume get</code>.
        </p>
      ) : (
        <ReadState of={read} what="the file" />
      )}
      {read.data !== undefined && <pre tabIndex={0}>{plainText(read.data.text)}</pre>}
      {read.data !== undefined && read.data.size > SHOWN_BYTES && (
        <p className="quiet">
          The first {formatBytes(SHOWN_BYTES)} of {formatBytes(read.data.size)}.
        </p>
      )}
    </>
  );
}
