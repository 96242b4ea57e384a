import { dirname, join } from 'node:path';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { traceVariables } from '../../runtime/tracing/trace-context.ts';
import type { Secrets } from '../../security/api.ts';
import { RUN_MARK } from './process-table.ts';
import { TEMPORARY } from './workspace.ts';

/** PATH of programs: the system's directories, and that of the node's `node` for scripts. */
export const SEARCH_PATH = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':');

interface ProgramEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Resolved secrets, which must not appear in any output. */
  readonly secrets: readonly string[];
}

/**
 * git runs programs that its configuration names, also that of a hostile repository in the workspace. These settings override
 * every file: no monitor, no hooks, no pager, no repository that is not called .git.
 */
const GIT_CONFIG = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['safe.bareRepository', 'explicit'],
] as const;

const GIT: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_COUNT: String(GIT_CONFIG.length),
  ...Object.fromEntries(
    GIT_CONFIG.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  PAGER: 'cat',
};

/** Variables of every program, with the trace of the effect that starts it, before the given ones. */
const baseVariables = (workspace: string): Record<string, string> => ({
  PATH: SEARCH_PATH,
  LANG: 'C.UTF-8',
  HOME: workspace,
  TMPDIR: join(workspace, TEMPORARY),
  ...GIT,
  ...traceVariables(outgoingTrace()),
});

/** The author of a commit is data; all other GIT_ variables control what git runs or where it looks. */
const GIT_AUTHOR = /^GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$/;

/** Whether a caller may set this variable. */
const mayGive = (name: string): boolean => !name.toUpperCase().startsWith('GIT_') || GIT_AUTHOR.test(name);

const givenVariables = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter(([name]) => mayGive(name)));

/** The environment of a shell command. Values are plain text; references are not resolved. */
export function commandEnvironment(
  given: Readonly<Record<string, string>>,
  { workspace, run }: { readonly workspace: string; readonly run: string },
): Readonly<Record<string, string>> {
  return { ...baseVariables(workspace), ...givenVariables(given), SVC_WORKSPACE: workspace, [RUN_MARK]: run };
}

/** The environment of a command of a tool. With a read-only workspace temporary files go to /tmp. */
export function toolEnvironment(about: {
  /** Path as the command sees it. */
  readonly workspace: string;
  readonly run: string;
  readonly executionId: string;
  readonly readOnly: boolean;
}): Readonly<Record<string, string>> {
  const { workspace, run, executionId, readOnly } = about;
  return {
    ...baseVariables(workspace),
    ...(readOnly ? { TMPDIR: '/tmp' } : {}),
    SVC_WORKSPACE: workspace,
    SVC_EXECUTION_ID: executionId,
    [RUN_MARK]: run,
  };
}

/**
 * The environment of an agent's program: nothing of the node's own environment, so no key of the node reaches it. Resolves
 * `secret:NAME` and `config:NAME`; `env:NAME` stays plain text, since it would name a variable of the node.
 */
export async function programEnvironment(
  given: Readonly<Record<string, string>>,
  {
    tenant,
    workspace,
    run,
    secrets,
  }: {
    readonly tenant: string;
    readonly workspace: string;
    readonly run: string;
    readonly secrets: Secrets;
  },
): Promise<ProgramEnvironment> {
  const found: string[] = [];
  const variables: Record<string, string> = baseVariables(workspace);
  for (const [name, value] of Object.entries(givenVariables(given))) {
    if (value.startsWith('secret:') || value.startsWith('config:')) {
      const resolved = await secrets.resolve(tenant, value);
      if (value.startsWith('secret:')) found.push(resolved);
      variables[name] = resolved;
    } else {
      variables[name] = value.startsWith('literal:') ? value.slice('literal:'.length) : value;
    }
  }
  variables[RUN_MARK] = run;
  return { variables, secrets: found };
}
