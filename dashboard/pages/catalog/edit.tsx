import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { parse } from 'yaml';
import { SvcApiError } from '../../../clients/typescript/client.ts';
import { api } from '../../api/queries.ts';
import { graphOf } from '../../api/state-graph.ts';
import { useFilters } from '../../app/use-filters.ts';
import { Editor, type Problem } from '../../parts/editor.tsx';
import { plainLine, plainText } from '../../parts/format.ts';
import { GraphView } from '../../parts/graph-view.tsx';
import { Failure, ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Status } from '../../parts/status.tsx';

const NEW_AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata:
  name: my-agent
  version: "1.0.0"
spec:
  task:
    instruction: Say what the agent should do.
`;

const NEW_WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata:
  name: my-workflow
  version: "1.0.0"
spec:
  initial_state: START
  states:
    START:
      kind: System
      command: echo hello
      transitions:
        - { target: DONE }
    DONE:
      kind: System
      command: finalize
      transitions: []
`;

type ManifestKind = 'agent' | 'workflow';

/** Problems of a manifest, from the checks of a deployment. Nothing is deployed. */
async function manifestProblems(kind: ManifestKind, text: string): Promise<readonly Problem[]> {
  const asked = { body: { manifest_yaml: text } };
  const { findings } = kind === 'workflow' ? await api.workflows.validate(asked) : await api.agents.validate(asked);
  return findings.map((finding) => ({
    ...finding,
    message: finding.path === '' || kind === 'workflow' ? finding.message : `${finding.path}: ${finding.message}`,
  }));
}

/** Creates or edits a manifest: problems while typing, the graph beside it, deployment. */
export function EditPage() {
  const [{ kind = 'agent', id = '' }] = useFilters();
  const read = useQuery({
    queryKey: ['manifest', kind, id],
    queryFn: () => (kind === 'workflow' ? api.workflows.export({ name: id }) : api.agents.export({ id })),
    enabled: id !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (id === '')
    return (
      <Manifest key={kind} isWorkflow={kind === 'workflow'} text={kind === 'workflow' ? NEW_WORKFLOW : NEW_AGENT} />
    );
  if (read.data === undefined) return <ReadState of={read} what="the manifest" />;
  return <Manifest key={id} isWorkflow={kind === 'workflow'} text={read.data} />;
}

function Manifest({ isWorkflow, text: first }: { readonly isWorkflow: boolean; readonly text: string }) {
  const [text, setText] = useState(first);
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const navigate = useNavigate();
  const kind: ManifestKind = isWorkflow ? 'workflow' : 'agent';
  const schema = useQuery({
    queryKey: ['manifest-schema', kind],
    queryFn: () => api.schemas.get({ kind }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const deploy = useMutation({
    mutationFn: async (replaces: boolean) => {
      const manifest = { body: text, force: replaces ? ('true' as const) : undefined };
      if (isWorkflow) return { kind, id: (await api.workflows.deploy(manifest)).workflow_id };
      return { kind, id: (await api.agents.deploy(manifest)).agent_id };
    },
    onSuccess: (params) => navigate({ to: '/catalog/$kind/$id', params }),
    onError: (error) => setProblems(problemsOf(error)),
  });
  const check = async (typed: string): Promise<readonly Problem[]> => {
    const found = await manifestProblems(kind, typed);
    setProblems(found);
    return found;
  };
  return (
    <>
      <PageHead title={isWorkflow ? 'Workflow manifest' : 'Agent manifest'}>
        <button type="button" className="primary" disabled={deploy.isPending} onClick={() => deploy.mutate(false)}>
          Deploy
        </button>
      </PageHead>
      {deploy.error !== null && <Failure error={deploy.error} />}
      {isTaken(deploy.error) && (
        <p className="actions">
          Give the manifest another version, or{' '}
          <button type="button" disabled={deploy.isPending} onClick={() => deploy.mutate(true)}>
            Replace this version
          </button>
          . Runs of it that have begun keep their manifest.
        </p>
      )}
      <div className={isWorkflow ? 'edit with-graph' : 'edit'}>
        <Editor label="Manifest" text={first} change={setText} check={check} schema={schema.data ?? null} />
        {isWorkflow && <Preview text={text} />}
      </div>
      <ul aria-label="Problems" className="problems">
        {problems.map(({ line, column, message, severity }) => (
          <li key={`${line} ${column} ${message}`}>
            <Status status={severity === 'error' ? 'failed' : 'waiting'} label={severity} /> line {line}, column{' '}
            {column}: {plainText(message)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Whether a deploy was refused because the version exists. */
const isTaken = (error: unknown): boolean => error instanceof SvcApiError && error.status === 409;

/** Problems of a refused deploy. */
function problemsOf(error: unknown): Problem[] {
  if (!(error instanceof SvcApiError) || !Array.isArray(error.details)) return [];
  const details: readonly { readonly line?: number; readonly column?: number; readonly message: string }[] =
    error.details;
  return details.map(({ line = 1, column = 1, message }) => ({
    line,
    column,
    message: plainLine(message),
    severity: 'error',
  }));
}

/** The graph of the readable part of the text. */
function Preview({ text }: { readonly text: string }) {
  const settled = useDeferredValue(text);
  const graph = useMemo(() => graphOf(manifestOf(settled)), [settled]);
  return <GraphView graph={graph} label="States of the manifest" />;
}

function manifestOf(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // The text is incomplete; the checker reports the position.
    return null;
  }
}
