import type { NodeSettings } from '../../manifests/node/settings.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';

/** Settings of a node whose one model answers from this script (docs/guides/scripted-provider.md). */
export function scriptedSettings(script: URL): NodeSettings {
  const resolved = resolveSettings({
    ...{ flags: {}, env: {} },
    file: `apiVersion: svc.dev/v1
kind: NodeConfig
spec:
  llm_providers:
    - name: script
      type: scripted
      script: ${script.pathname}
      models: [{ alias: default, model: scripted }]
`,
  });
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
  return resolved.settings;
}
