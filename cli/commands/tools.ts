import type { Command } from 'commander';
import { toolsCall } from './tools-call.ts';
import { toolsList, toolsSearch } from './tools-list.ts';

/** `svc tools`: every tool of the node, for people and scripts. */
export function tools(program: Command): void {
  const group = program.command('tools').description('tools you may use: list, search, call');
  for (const add of [toolsList, toolsSearch, toolsCall]) add(group);
}
