import { parseAgentManifest } from '../manifests/agent/parse.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';

/** An agent that asks its model once; `more` are further lines of its `spec`. */
export function oneShotAgent(instruction = 'Answer.', more = ''): AgentManifest {
  const parsed = parseAgentManifest(`
apiVersion: svc.dev/v1
kind: Agent
metadata: { name: bench, version: 1.0.0 }
spec:
  task: { instruction: ${instruction} }
  execution: { mode: one-shot }
  ${more}
`);
  if (!parsed.ok) throw new Error('the benchmark’s manifest is wrong');
  return parsed.manifest;
}
