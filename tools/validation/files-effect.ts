import { FilesRequest, type FilesResult } from '../../manifests/agent/workspace-checks.ts';
import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SecurityContexts } from '../../security/policy/api.ts';
import { problemOf } from '../context/context-effect.ts';
import { fsRead } from '../files/contracts.ts';
import { type FileCaller, type FilePorts, placeOf } from '../files/places.ts';
import { readText } from '../files/text-file.ts';
import { ToolFailure } from '../tool.ts';
import { builtInOffer } from '../tool-granter.ts';

interface FilesEffectParts {
  readonly files: FilePorts;
  readonly contexts: Pick<SecurityContexts, 'scopeFor'>;
  /** Decides on each file as on a call of `fs.read`. */
  readonly policy: ToolPolicy;
}

type Asked = FilesRequest['files'][number];

type Found = FilesResult['files'][number];

/**
 * The effect `files.read` (repeatable): the texts of files that a validator names. Throws `forbidden` for a file that the rules
 * of the agent forbid. When the node's own store is unreachable the error passes through, so that the runner waits for it.
 */
export function createFilesEffect(parts: FilesEffectParts): EffectHandler<typeof FilesRequest> {
  return defineEffect({
    kind: 'files.read',
    input: FilesRequest,
    async run({ files, grant, subject }, { tenant, signal }) {
      const scope = parts.contexts.scopeFor(tenant, grant);
      const caller: FileCaller = { tenant, run: { subject, scope } };
      const found: Found[] = [];
      for (const asked of files) {
        signal.throwIfAborted();
        found.push(await fileOf(parts, caller, asked));
      }
      return { files: found };
    },
  });
}

async function fileOf(
  { files, policy }: FilesEffectParts,
  caller: FileCaller,
  { path, max_bytes }: Asked,
): Promise<Found> {
  const grant = { ...caller.run.scope, tools: [builtInOffer(fsRead)] };
  const decision = policy.decide(grant, { name: fsRead.name, arguments: { path } });
  if (!decision.allowed) throw new SvcError('forbidden', `${decision.reason}: ${decision.message}`);
  const most = Math.min(max_bytes, decision.limits.max_response_bytes ?? Number.POSITIVE_INFINITY);
  try {
    const place = await placeOf(files, caller, path, 'read');
    const { text, bytes } = await readText(files, caller.tenant, place);
    if (bytes.length <= most) return { status: 'read', text };
    return { status: 'unreadable', reason: `${path} has ${bytes.length} bytes, at most ${most} are checked` };
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure)) throw thrown;
    return { status: 'unreadable', reason: problemOf(thrown) };
  }
}
