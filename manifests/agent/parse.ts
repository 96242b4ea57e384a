import { checkDocument, type Parsed } from '../schema-problems.ts';
import type { KnownStorage } from '../workflow/check/flow.ts';
import type { Finding } from '../workflow/finding.ts';
import { parseYaml } from '../yaml.ts';
import { type AgentManifest, AgentManifestSchema } from './schema.ts';
import { ignoredFields, neverStarts, unknownModel } from './unserved.ts';
import { measuredSizes } from './volumes.ts';

/** An agent manifest from its YAML, or every problem with path, line and column. Never throws. */
export function parseAgentManifest(text: string): Parsed<AgentManifest> {
  const parsed = parseYaml(text);
  return parsed.ok ? checkDocument(AgentManifestSchema, parsed.yaml) : parsed;
}

/**
 * The same for a deployment, which also refuses an agent that every start would refuse. `maxSizeLimitMb`: that of the node's
 * volumes.
 */
export function parseDeployableAgent(text: string, maxSizeLimitMb?: number): Parsed<AgentManifest> {
  const parsed = parseAgentManifest(text);
  const yaml = parseYaml(text);
  if (!parsed.ok || !yaml.ok) return parsed;
  const problems = neverStarts(parsed.manifest, yaml.yaml, maxSizeLimitMb);
  return problems.length === 0 ? parsed : { ok: false, problems };
}

/**
 * Warnings of a deployment: fields with less effect than they promise, a model that no node has, commands that an allowlist of
 * first arguments does not restrict. `models`: aliases that nodes have; empty: unknown. `storage`: of the node; absent: sizes
 * of volumes are not checked.
 */
export function agentFindings(text: string, models: readonly string[], storage?: KnownStorage): Finding[] {
  const parsed = parseAgentManifest(text);
  const yaml = parseYaml(text);
  if (!parsed.ok || !yaml.ok) return [];
  const { manifest } = parsed;
  return [
    ...ignoredFields(manifest, yaml.yaml),
    ...unknownModel(manifest, models, yaml.yaml),
    ...(storage?.enforcesSize === false ? measuredSizes(manifest, yaml.yaml) : []),
    ...commandWarnings(text),
  ];
}

/**
 * Programs that can run any other program, by a file, an argument or a configuration: allowing one of them allows every
 * command.
 */
const RUNS_ANYTHING: ReadonlySet<string> = new Set([
  ...[
    'sh',
    'bash',
    'dash',
    'zsh',
    'busybox',
    'env',
    'xargs',
    'find',
    'awk',
    'gawk',
    'mawk',
    'sed',
    'tar',
    'ssh',
    'nice',
  ],
  ...['nohup', 'setsid', 'timeout', 'watch', 'make', 'gmake', 'cmake', 'ninja', 'npm', 'npx', 'pnpm', 'yarn', 'node'],
  ...['deno', 'bun', 'python', 'python3', 'pip', 'pip3', 'perl', 'ruby', 'rake', 'php', 'lua', 'go', 'cargo', 'mvn'],
  ...['gradle', 'docker', 'podman', 'vi', 'vim', 'ed', 'gdb', 'strace'],
]);

/** Warns of allowed commands that an allowlist of first arguments does not restrict. Never refuses a deploy. */
export function commandWarnings(text: string): Finding[] {
  const parsed = parseAgentManifest(text);
  const yaml = parseYaml(text);
  if (!parsed.ok || !yaml.ok) return [];
  const { locate } = yaml.yaml;
  return parsed.manifest.spec.tools.flatMap((tool, index) => {
    const allowed = typeof tool === 'string' ? undefined : tool.config.subcommand_allowlist;
    if (typeof allowed !== 'object' || allowed === null) return [];
    return Object.keys(allowed)
      .filter((command) => RUNS_ANYTHING.has(command))
      .map((command): Finding => {
        const path = ['spec', 'tools', index, 'config', 'subcommand_allowlist', command];
        return {
          rule: 'runs_anything',
          severity: 'warning',
          path: `spec.tools[${index}].config.subcommand_allowlist.${command}`,
          ...locate(path),
          message: `${command} runs whatever a file or an argument says, so the allowlist does not restrict it`,
          cure: 'Allow a program with one purpose, or rely on the sandbox alone, whose rights bound whatever runs in it.',
        };
      });
  });
}
