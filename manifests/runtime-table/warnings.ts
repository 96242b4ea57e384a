import { parseAgentManifest } from '../agent/parse.ts';
import type { Finding } from '../workflow/finding.ts';
import { parseYaml } from '../yaml.ts';
import { findRuntime, type RuntimeTable } from './table.ts';

/** What to tell whoever deploys an agent about its language and version. Nothing here refuses a deploy. */
export function runtimeWarnings(text: string, table: RuntimeTable): Finding[] {
  const parsed = parseAgentManifest(text);
  const yaml = parseYaml(text);
  if (!parsed.ok || !yaml.ok) return [];
  const { language, version } = parsed.manifest.spec.runtime;
  const warning = (rule: string, message: string, cure: string): Finding => ({
    ...{ rule, severity: 'warning', path: 'spec.runtime.version', message, cure },
    ...yaml.yaml.locate(['spec', 'runtime', 'version']),
  });
  const found = findRuntime(table, { language, version });
  if (!found.ok) {
    const cure = 'Write one of those, or an image; an execution with this one is refused here.';
    return [warning('unknown_runtime', found.message, cure)];
  }
  if (found.runtime?.deprecated !== true) return [];
  const newer = table.filter((row) => row.language === language && !row.deprecated).map((row) => row.version);
  const cure = newer.length === 0 ? 'Write an image.' : `Write one of ${newer.join(', ')}.`;
  return [warning('deprecated_runtime', `runtime ${language} ${version} is deprecated`, cure)];
}
