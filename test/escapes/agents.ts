/** What an agent may be given; every tool there is. */
type Manifest = Readonly<Record<string, unknown>>;

const COMMANDS = { sh: ['-c'], ls: [], cat: [], env: [], echo: [], yes: [], tr: [], true: [] };
const commands = (config: Manifest): Manifest => ({
  name: 'cmd.run',
  executor: 'builtin:cmd',
  config: { subcommand_allowlist: COMMANDS, max_output_bytes: 65_536, ...config },
});

export const HANDS: Manifest = {
  security_context: 'hands',
  // So that what refuses an address is the guard of the web, not this list.
  security: { network: { mode: 'allow' } },
  tools: ['fs.*', 'web.*', 'svc.tools.*', 'mcp:wild', commands({ timeout_ceiling_secs: 15 })],
};

/** Its commands end after a second. */
export const BRIEF: Manifest = { security_context: 'hands', tools: [commands({ timeout_ceiling_secs: 1 })] };

/** In a container. */
export const BOXED: Manifest = {
  ...BRIEF,
  tools: [commands({ timeout_ceiling_secs: 3 })],
  runtime: { isolation: 'docker' },
};
