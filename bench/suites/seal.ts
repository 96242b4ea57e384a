import { generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import type { SealEnvelope } from '../../security/api.ts';
import { createFileKeys } from '../../security/keys/file-keys.ts';
import { createPublishedKeys } from '../../security/keys/published-keys.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { commandCeilings } from '../../security/policy/matching.ts';
import { createToolPolicy } from '../../security/policy/policy.ts';
import { parseAgentPublicKey } from '../../security/seal/agent-key.ts';
import { createAgentTokens } from '../../security/seal/agent-tokens.ts';
import { createSealEnvelopes } from '../../security/seal/envelopes.ts';
import { BUILT_IN, TOOL_CONTRACTS } from '../../tools/contracts.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const BAR = 1.5;
const TOOLS = 8;
const SLICE_MS = 25;

interface Figures {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

type Work = () => Promise<unknown>;

/**
 * What one signed call costs before its tool runs, on one core: envelope verification plus the decision of policy, beside
 * the cryptography alone (one RS256 token with jose, one Ed25519 signature). The peers take turns in short slices.
 */
export async function seal({ repetitions, warmUpMs, runMs }: Plan): Promise<Section> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-seal-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  try {
    const works = await worksOf(documents, join(directory, 'keys'));
    await turns(works, warmUpMs);
    const rounds: Record<string, Figures>[] = [];
    for (let round = 0; round < repetitions; round += 1) rounds.push(await turns(works, runMs));
    return sectionOf(Object.keys(works), rounds);
  } finally {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function sectionOf(names: readonly string[], rounds: readonly Record<string, Figures>[]): Section {
  const middle = (name: string, pick: (figures: Figures) => number): number => {
    const values = rounds
      .map((round) => pick(round[name] ?? { perSecond: 0, p50Us: 0, p99Us: 0 }))
      .sort((a, b) => a - b);
    return values[Math.floor(values.length / 2)] ?? 0;
  };
  const bare = middle(BARE, ({ p50Us }) => p50Us);
  const rows = names.map((name) => {
    const ratio = middle(name, ({ p50Us }) => p50Us) / bare;
    return [
      name,
      whole(middle(name, ({ perSecond }) => perSecond)),
      middle(name, ({ p50Us }) => p50Us).toFixed(0),
      middle(name, ({ p99Us }) => p99Us).toFixed(0),
      ratio.toFixed(2),
      name.startsWith('svc') ? `≤ ${BAR}: ${ratio <= BAR ? 'yes' : 'no'}` : '',
    ];
  });
  return {
    title: 'A signed tool call: verification and policy',
    text: [
      table(['peer', 'calls/s, one core', 'p50 µs', 'p99 µs', 'p50 of the bare cryptography', 'bar'], rows),
      'One call after the other. "Token known" is how agents call: the same token with every call, its RS256 signature looked at every 30 s.',
    ].join('\n\n'),
  };
}

const BARE = 'bare: jose RS256 token and Ed25519 signature';

async function worksOf(documents: SqliteDocuments, directory: string): Promise<Record<string, Work>> {
  const clock = systemClock;
  const keys = createFileKeys({ directory, rotateAfterDays: 90, clock });
  const published = createPublishedKeys({ documents, clock });
  const settings = { issuer: 'svc-orchestrator', audiences: ['svc-agents'], token_ttl_seconds: 3_600 };
  const tokens = createAgentTokens({ keys, published, clock, settings });
  const pair = generateKeyPairSync('ed25519');
  const publicKey = parseAgentPublicKey({ pem: String(pair.publicKey.export({ type: 'spki', format: 'pem' })) });
  const token = await tokens.issue({
    agentId: randomUUID(),
    executionId: randomUUID(),
    tenant: 'bench',
    sessionId: randomUUID(),
    workloadId: randomUUID(),
    securityContext: 'svc-system-agent-runtime',
    publicKey,
    expiresAt: clock.now() + 3_600_000,
  });
  const [kid] = (await published.all()).map((jwk) => jwk.kid ?? '');
  const rsa = await published.find(kid ?? '');
  if (rsa === null) throw new Error('the key that signed is not known');
  const payload = Buffer.from(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'fs.write', arguments: { path: 'notes/a.md', content: 'x'.repeat(1_024) } },
    }),
  );
  const signature = sign(null, payload, pair.privateKey);
  const envelope = (): SealEnvelope => ({
    protocol: 'seal/v1',
    security_token: token,
    signature: signature.toString('base64'),
    payload,
    timestamp: new Date(clock.now()).toISOString(),
  });
  const options = { algorithms: ['RS256'], issuer: settings.issuer, audience: settings.audiences };
  const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
  const grant = grantOf();
  const call = async (envelopes: ReturnType<typeof createSealEnvelopes>): Promise<void> => {
    const opened = await envelopes.open(envelope());
    if (!opened.ok) throw new Error(opened.refusal);
    const { rpc } = opened.call;
    const decision = policy.decide(grant, { name: rpc.tool ?? '', arguments: rpc.arguments });
    if (!decision.allowed) throw new Error(decision.message);
  };
  const known = createSealEnvelopes({ tokens, clock });
  return {
    [BARE]: async () => {
      await jwtVerify(token, rsa, options);
      if (!verify(null, payload, publicKey, signature)) throw new Error('not verified');
    },
    'bare: Ed25519 signature alone': async () => {
      if (!verify(null, payload, publicKey, signature)) throw new Error('not verified');
    },
    'svc: verification and policy, token known': () => call(known),
    'svc: verification and policy, every token new': () => call(createSealEnvelopes({ tokens, clock })),
    'policy alone': async () => {
      policy.decide(grant, { name: 'fs.write', arguments: { path: 'notes/a.md', content: 'x' } });
    },
  };
}

/** An agent with eight tools, rules of files and network, under the context of executions. */
function grantOf(): ToolGrant {
  const scope = createSecurityContexts([]).scopeFor('bench', {
    manifest: ['fs.*', 'web.*', 'svc.tools.list'].map((name) => ({ name, config: {} })),
    network: { mode: 'deny', allowlist: ['example.com'], denylist: [] },
    filesystem: { read: ['/workspace/**'], write: ['/workspace/notes/**', '/workspace/out/**'], read_only: false },
  });
  const tools = BUILT_IN.slice(0, TOOLS).map((contract) => ({
    name: contract.name,
    description: contract.description,
    input_schema: z.record(z.string(), z.json()).parse(z.toJSONSchema(contract.input, { io: 'input' })),
    schema_hash: '0'.repeat(64),
    source: 'builtin' as const,
    skip_judge: contract.skipJudge,
    mode: contract.mode,
    reads: contract.reads,
    runs: contract.runs,
  }));
  return { ...scope, tools };
}

/** Each function runs for `forMs` in short slices in turn, so that other work of the machine affects all alike. */
async function turns(works: Readonly<Record<string, Work>>, forMs: number): Promise<Record<string, Figures>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let spentMs = 0; spentMs < forMs; spentMs += SLICE_MS)
    for (const [name, work] of Object.entries(works)) await runSlice(work, times[name] ?? []);
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, figuresOf(values)]));
}

async function runSlice(work: Work, times: number[]): Promise<void> {
  const startedAt = performance.now();
  for (let now = startedAt; now - startedAt < SLICE_MS; ) {
    await work();
    const then = performance.now();
    times.push(then - now);
    now = then;
  }
}

function figuresOf(times: number[]): Figures {
  const spentMs = times.reduce((sum, time) => sum + time, 0);
  times.sort((a, b) => a - b);
  const at = (part: number): number => (times[Math.floor(times.length * part)] ?? 0) * 1_000;
  return { perSecond: (times.length / spentMs) * 1_000, p50Us: at(0.5), p99Us: at(0.99) };
}
