import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createToolCommands } from '../../effects/commands/tool-commands.ts';
import { createWeb } from '../../effects/web/web.ts';
import { NodeWeb } from '../../manifests/node/containers.ts';
import { ToolOutcome, type ToolRun } from '../../manifests/tool/call.ts';
import { GrantRequest, type ToolGrant, type ToolScope } from '../../manifests/tool/scope.ts';
import { addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { systemRandom } from '../../runtime/random.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteRateLimits } from '../../runtime/sqlite/rate-limits.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { commandCeilings, isListed } from '../../security/policy/matching.ts';
import { filesystemBreach } from '../../security/policy/paths.ts';
import { createToolPolicy, domainProblem } from '../../security/policy/policy.ts';
import { createBuiltInTools, TOOL_CONTRACTS } from '../../tools/contracts.ts';
import { createToolEffect, type ToolEffectParts } from '../../tools/tool-effect.ts';
import { createToolGranter, type ToolGranterParts } from '../../tools/tool-granter.ts';
import { type VolumesUnderTest, volumesUnderTest } from '../effects/volumes/volumes-under-test.ts';
import { effectContext } from '../support/effect-context.ts';
import { clockThatStands } from '../support/hand-clock.ts';

export const TENANT = 'acme';

/** What an agent with all built-in tools says of itself. */
export const everyTool = (more: object = {}): GrantRequest =>
  GrantRequest.parse({
    manifest: [
      ...['fs.*', 'web.*', 'svc.tools.*'].map((name) => ({ name, config: {} })),
      { name: 'cmd', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: ['-c'], ls: [] } } },
    ],
    network: { mode: 'allow', allowlist: [], denylist: [] },
    filesystem: null,
    ...more,
  });

/** As the runner of effects gives it to an execution's call of a tool. */
export const toolContext = (execution: string = randomUUID(), signal = new AbortController().signal): EffectContext =>
  effectContext({ tenant: TENANT, address: addressOf('execution', TENANT, execution), signal });

/** The tools of a node as `main.ts` puts them together: real volumes, commands, web, policy and stores. */
export interface ToolsUnderTest extends AsyncDisposable {
  readonly volumes: VolumesUnderTest;
  readonly blobs: FileBlobs;
  readonly rateLimits: SqliteRateLimits;
  readonly granter: ReturnType<typeof createToolGranter>;
  readonly policy: ReturnType<typeof createToolPolicy>;
  readonly grant: ToolGrant;
  readonly execution: string;
  /** Where the execution's workspace is on this machine; made when it is not there. */
  directory(): Promise<string>;
  /** Runs the effect as a call that policy allowed. */
  call(tool: string, given: ToolRun['arguments'], more?: CallMore): Promise<ToolOutcome>;
  /** Its text; throws with the error of a failed tool. */
  text(tool: string, given: ToolRun['arguments'], more?: CallMore): Promise<string>;
}

interface CallMore {
  readonly subject?: Partial<ToolRun['subject']>;
  readonly scope?: Partial<ToolScope>;
  readonly limits?: ToolRun['limits'];
  readonly schemaHash?: string;
  readonly server?: string;
  readonly signal?: AbortSignal;
  /** What the runner of effects gives otherwise. */
  readonly context?: Partial<EffectContext>;
}

export async function toolsUnderTest(
  parts: {
    readonly granter?: Partial<ToolGranterParts>;
    readonly effect?: Partial<ToolEffectParts>;
    readonly request?: GrantRequest;
  } = {},
): Promise<ToolsUnderTest> {
  const volumes = await volumesUnderTest();
  const blobs = new FileBlobs({ directory: volumes.directory });
  await blobs.open();
  const rateLimits = new SqliteRateLimits({ directory: volumes.directory, clock: clockThatStands() });
  await rateLimits.open();
  const web = createWeb({
    ...{ settings: NodeWeb.parse({}), clock: systemClock, random: systemRandom },
    resolveSecret: async () => '',
  });
  const granter = createToolGranter({ contexts: createSecurityContexts([]), isListed, ...parts.granter });
  const commands = createToolCommands({
    ...{ volumes: volumes.volumes, workspaces: join(volumes.directory, 'workspaces'), view: null, killGraceMs: 200 },
    ...{ allow: (tenant: string) => tenant === TENANT, engine: null },
  });
  const tools = createBuiltInTools({
    files: {
      ...{ files: volumes.volumes.files, volumes: volumes.volumes },
      mayTouch: (scope, path, access) =>
        filesystemBreach([{ field: 'path', path, absolute: path, access }], scope) === null,
    },
    ...{ web: { web, domainProblem }, commands, listing: granter },
  });
  const effect = createToolEffect({ granter, tools, blobs, rateLimits, ...parts.effect });
  const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
  const grant = await granter.grant(TENANT, parts.request ?? everyTool());
  const execution = randomUUID();

  const call: ToolsUnderTest['call'] = async (tool, given, more = {}) => {
    const { tools: offers, ...scope } = grant;
    const run: ToolRun = {
      ...{ tool, arguments: given, limits: more.limits ?? {}, scope: { ...scope, ...more.scope } },
      schema_hash: more.schemaHash ?? offers.find(({ name }) => name === tool)?.schema_hash ?? '',
      ...(more.server === undefined ? {} : { server: more.server }),
      subject: {
        ...{ execution_id: execution, agent_id: 'agent', session_id: execution, mounts: [], isolation: 'process' },
        principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'pro' },
        ...more.subject,
      },
    };
    const context = { ...toolContext(execution, more.signal), ...more.context };
    return ToolOutcome.parse(await effect.run(effect.input.parse(run), context));
  };

  return {
    ...{ volumes, blobs, rateLimits, granter, policy, grant, execution, call },
    directory: async () => (await volumes.volumes.open(TENANT, execution, { create: true })).directory,
    async text(tool, given, more) {
      const outcome = await call(tool, given, more);
      if (outcome.error !== undefined) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
      return outcome.content.map((part) => part.text).join('');
    },
    async [Symbol.asyncDispose]() {
      await web.close();
      await rateLimits.close();
      await blobs.close();
      await volumes[Symbol.asyncDispose]();
    },
  };
}
