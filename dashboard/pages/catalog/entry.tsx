import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { api } from '../../api/queries.ts';
import { graphOf } from '../../api/state-graph.ts';
import { useMay } from '../../app/session.ts';
import { useFilters } from '../../app/use-filters.ts';
import { ActButton } from '../../parts/act-button.tsx';
import { Differences } from '../../parts/differences.tsx';
import { SelectFilter } from '../../parts/filters.tsx';
import { plainLine } from '../../parts/format.ts';
import { CellText, LongText } from '../../parts/long-text.tsx';
import { Loading, ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Status } from '../../parts/status.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { StartForm } from './start.tsx';

const GraphView = lazy(() => import('../../parts/graph-view.tsx').then(({ GraphView: view }) => ({ default: view })));

type EntryKind = 'agent' | 'workflow';

const deployed = async (kind: EntryKind, id: string, version: string | undefined) =>
  kind === 'agent' ? await api.agents.get({ id, version }) : await api.workflows.get({ name: id, version });

async function versionsOf(kind: EntryKind, id: string): Promise<string[]> {
  const { versions } =
    kind === 'agent' ? await api.agents.listVersions({ id }) : await api.workflows.listVersions({ name: id });
  return versions.map(({ version }) => version);
}

/** A deployed agent or workflow: manifest, versions and differences, graph, a form to start it. */
export function EntryPage() {
  const { kind: asked = '', id = '' } = useParams({ strict: false });
  const kind: EntryKind = asked === 'workflow' ? 'workflow' : 'agent';
  const [{ version = '', tab = '' }, setFilters] = useFilters();
  const read = useQuery({
    queryKey: ['entry', kind, id, version],
    queryFn: () => deployed(kind, id, version === '' ? undefined : version),
  });
  const versions = useQuery({ queryKey: ['versions', kind, id], queryFn: () => versionsOf(kind, id) });
  const entry = read.data;
  const graph = useMemo(() => graphOf(entry?.manifest), [entry]);
  if (entry === undefined) return <ReadState of={read} what={`the ${kind}`} />;
  const { name, status, manifest_yaml: text } = entry;
  return (
    <>
      <PageHead title={name} note={<EntryNote kind={kind} status={status} version={entry.version} />}>
        <EntryActions kind={kind} id={id} name={name} status={status} />
      </PageHead>
      {entry.description !== '' && (
        <div>
          <CellText text={entry.description} name="description" />
        </div>
      )}
      <div className="filters">
        <SelectFilter
          label="Version"
          value={version}
          options={[['', 'newest'], ...(versions.data ?? []).map((one) => [one, one] as const)]}
          change={(value) => setFilters({ version: value })}
        />
        <Link to="/runs" search={{ name }}>
          Runs of it
        </Link>
      </div>
      <Tabs
        label="Parts of the entry"
        tabs={[
          ['manifest', 'Manifest'],
          ...(kind === 'workflow' ? [['graph', 'Graph'] as const] : []),
          ['differences', 'Differences'],
          ['start', 'Start'],
        ]}
      />
      {tab === '' && <LongText text={text} name={name} className="tall" />}
      {tab === 'graph' && (
        <Suspense fallback={<Loading what="the graph" />}>
          <GraphView graph={graph} label={`States of ${name}`} />
        </Suspense>
      )}
      {tab === 'differences' && <Compare kind={kind} id={id} text={text} versions={versions.data ?? []} />}
      {tab === 'start' && <StartForm kind={kind} id={id} version={version} manifest={entry.manifest} />}
    </>
  );
}

function EntryNote({
  kind,
  status,
  version,
}: {
  readonly kind: EntryKind;
  readonly status: string;
  readonly version: string;
}) {
  return (
    <>
      {kind} {plainLine(version, 40)} <Status status={status} />
    </>
  );
}

interface EntryActionsProps {
  readonly kind: EntryKind;
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

function EntryActions({ kind, id, name, status }: EntryActionsProps) {
  const may = useMay();
  if (!may('write', kind === 'agent' ? 'agents' : 'workflows')) return null;
  const set = (next: 'deployed' | 'paused') =>
    kind === 'agent'
      ? api.agents.setStatus({ id, body: { status: next } })
      : api.workflows.setStatus({ name: id, body: { status: next } });
  return (
    <>
      <Link className="button" to="/catalog/edit" search={{ kind, id }}>
        Edit
      </Link>
      {status === 'paused' ? (
        <ActButton label="Resume" act={() => set('deployed')} />
      ) : (
        <ActButton
          label="Pause"
          ask={`${plainLine(name, 60)} starts nothing while it is paused. What runs goes on.`}
          act={() => set('paused')}
        />
      )}
    </>
  );
}

interface CompareProps {
  readonly kind: EntryKind;
  readonly id: string;
  readonly text: string;
  readonly versions: readonly string[];
}

function Compare({ kind, id, text, versions }: CompareProps) {
  const [{ against = '' }, setFilters] = useFilters();
  const other = useQuery({
    queryKey: ['entry', kind, id, against],
    queryFn: () => deployed(kind, id, against),
    enabled: against !== '',
  });
  return (
    <>
      <SelectFilter
        label="Against"
        value={against}
        options={[['', 'choose a version'], ...versions.map((one) => [one, one] as const)]}
        change={(value) => setFilters({ against: value })}
      />
      {against !== '' && <ReadState of={other} what="the other version" />}
      {other.data !== undefined && (
        <Differences before={other.data.manifest_yaml} after={text} label={`${against} against the shown version`} />
      )}
    </>
  );
}
