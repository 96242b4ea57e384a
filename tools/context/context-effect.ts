import type { z } from 'zod';
import { CONTEXT_LIMITS, ContextRequest, type ContextTexts } from '../../manifests/agent/context.ts';
import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import type { ToolScope } from '../../manifests/tool/scope.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import type { TargetGates, TargetHealth } from '../../runtime/effects/target-gates.ts';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { SecurityContexts } from '../../security/policy/api.ts';
import { PageRefused } from '../../usecases/ports/web.ts';
import { fsList, fsRead } from '../files/contracts.ts';
import type { FilePorts } from '../files/places.ts';
import { REFUSED, ToolFailure } from '../tool.ts';
import { builtInOffer } from '../tool-granter.ts';
import { MAX_PAGE_BYTES, type WebPorts, webFetch, webRules } from '../web/tools.ts';
import { directoryText, fileText, type Reading } from './workspace-text.ts';

interface ContextEffectParts {
  readonly files: FilePorts;
  readonly web: WebPorts;
  readonly contexts: Pick<SecurityContexts, 'scopeFor'>;
  /** Decides on each file and URL as on a call of `fs.read`, `fs.list` or `web.fetch`. */
  readonly policy: ToolPolicy;
  /** Absent in tests: pages of a host that hangs keep their concurrency slots. */
  readonly gates?: TargetGates;
}

type Asked = ContextRequest['entries'][number];

/**
 * The effect `context.read` (repeatable): the texts of the files, directories and URLs of an agent's `spec.context`. An
 * unreadable entry fails it with a code for the reason and a message that names the entry; an unreachable or busy host is
 * `unavailable`, which is retried. When the node's own store is unreachable the error passes through, so that the runner waits
 * for it.
 */
export function createContextEffect(parts: ContextEffectParts): EffectHandler<typeof ContextRequest> {
  return defineEffect({
    kind: 'context.read',
    input: ContextRequest,
    async run({ entries, grant, subject }, context) {
      const { tenant, signal } = context;
      const scope = parts.contexts.scopeFor(tenant, grant);
      const reading: Reading = {
        ports: parts.files,
        caller: { tenant, run: { subject, scope } },
        may: (name, args) => decided(parts.policy, scope, name, args),
        leftBytes: CONTEXT_LIMITS.bytes,
        signal,
      };
      const texts: string[] = [];
      for (const asked of entries) {
        signal.throwIfAborted();
        const text = await namingEntry(asked, signal, () => textOf(parts, reading, asked, context));
        reading.leftBytes -= Buffer.byteLength(text);
        texts.push(text);
      }
      return { texts } satisfies z.input<typeof ContextTexts>;
    },
  });
}

function textOf(
  parts: ContextEffectParts,
  reading: Reading,
  { entry }: Asked,
  context: EffectContext,
): Promise<string> {
  switch (entry.type) {
    case 'file':
      return fileText(reading, entry.path);
    case 'directory':
      return directoryText(reading, entry.path);
    case 'url':
      return pageText(parts, reading, entry.url, context);
  }
}

const OFFERS = [fsRead, fsList, webFetch];

/** The policy's decision on the use of a tool, whether or not the manifest has it. */
function decided(
  policy: ToolPolicy,
  scope: ToolScope,
  name: string,
  args: Readonly<Record<string, string>>,
): ReturnType<Reading['may']> {
  const decision = policy.decide({ ...scope, tools: OFFERS.map(builtInOffer) }, { name, arguments: args });
  return decision.allowed
    ? { allowed: true, maxBytes: decision.limits.max_response_bytes ?? Number.POSITIVE_INFINITY }
    : { allowed: false, why: `${decision.reason}: ${decision.message}` };
}

async function pageText(
  { web, gates }: ContextEffectParts,
  { may, caller, leftBytes }: Reading,
  url: string,
  context: EffectContext,
): Promise<string> {
  const { signal } = context;
  const decision = may(webFetch.name, { url });
  if (!decision.allowed) throw new SvcError('forbidden', decision.why);
  const request = {
    url,
    to_markdown: true,
    follow_redirects: true,
    timeout_ms: CONTEXT_LIMITS.pageMs,
    max_bytes: Math.min(decision.maxBytes, MAX_PAGE_BYTES),
  };
  const fetched = () => web.web.fetch(request, webRules(web, caller.run.scope), signal);
  const target = `web host ${URL.parse(url)?.host ?? ''}`;
  const page = await (gates === undefined ? fetched() : gates.through(target, context, { call: fetched, healthOf }));
  if (page.truncated || Buffer.byteLength(page.text) > leftBytes) {
    throw tooLarge(`the page of ${URL.parse(url)?.host ?? 'the host'}`);
  }
  return page.text;
}

const healthOf = (thrown: unknown): TargetHealth =>
  thrown instanceof SvcError && thrown.code === 'deadline_exceeded' ? 'failed' : 'alive';

const tooLarge = (what: string): SvcError =>
  new SvcError(
    'payload_too_large',
    `${what} is too large: what is read has at most ${CONTEXT_LIMITS.bytes} bytes in all`,
  );

/** Codes of tools (W31) as codes of the error table. */
const CODES: Partial<Record<ToolFailure['code'], ErrorCode>> = {
  NOT_FOUND: 'not_found',
  PERMISSION_DENIED: 'forbidden',
  FileTooLarge: 'payload_too_large',
};

/** Runs `work`. Its errors name the entry; an unreachable store stays their cause. */
async function namingEntry({ index, entry }: Asked, signal: AbortSignal, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const where = `spec.context[${index}] (${entry.type})`;
    if (thrown instanceof ToolFailure) {
      const code = thrown.class === 'policy' ? 'forbidden' : (CODES[thrown.code] ?? 'failed_precondition');
      throw new SvcError(code, `${where}: ${problemOf(thrown)}`, { cause: thrown });
    }
    if (!(thrown instanceof SvcError) || thrown.row.kind === 'bug') throw thrown;
    const code = thrown instanceof PageRefused ? codeOfStatus(thrown.status) : thrown.code;
    const { retryAfterMs } = thrown;
    throw new SvcError(code, `${where}: ${thrown.message.replace(/^web\.fetch: /, '')}`, {
      retryAfterMs,
      cause: thrown,
    });
  }
}

/** The message of a tool without its advice to a model. */
export function problemOf({ code, message, class: failureClass }: ToolFailure): string {
  if (failureClass === 'policy') return `${code}: ${message.replace(REFUSED, '')}`;
  return code === 'NOT_FOUND' || code === 'BinaryFile' ? (message.split(': ')[0] ?? message) : message;
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 404 || status === 410) return 'not_found';
  if (status === 401 || status === 403) return 'forbidden';
  return status >= 500 || [408, 425, 429].includes(status) ? 'unavailable' : 'failed_precondition';
}
