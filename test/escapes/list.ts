import { ARGUMENTS } from './arguments.ts';
import { BOXES } from './boxes.ts';
import { COMMANDS } from './commands.ts';
import { SMALL_DISKS, VOLUMES } from './disks.ts';
import type { Escape } from './escape.ts';
import { LINKS } from './links.ts';
import { LOOPS } from './loops.ts';
import { MCP } from './mcp.ts';
import { PATHS } from './paths.ts';
import { PATTERNS } from './patterns.ts';
import { RACES } from './races.ts';
import { SPECIALS } from './specials.ts';
import { TOKENS } from './tokens.ts';
import { WEB } from './web.ts';

/** In the order in which they are made; each by the same node. */
export const ON_ONE_NODE: readonly Escape[] = [
  ...[...PATHS, ...LINKS, ...RACES, ...SPECIALS, ...PATTERNS, ...ARGUMENTS],
  ...[...COMMANDS, ...WEB, ...MCP, ...TOKENS, ...LOOPS, ...VOLUMES],
];

export { BOXES, SMALL_DISKS };
export const ALL: readonly Escape[] = [...ON_ONE_NODE, ...SMALL_DISKS, ...BOXES];
