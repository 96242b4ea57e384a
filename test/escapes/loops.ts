import assert from 'node:assert/strict';
import { agentYaml } from '../product/product-node.ts';
import { HANDS } from './agents.ts';
import type { Escape } from './escape.ts';

interface Wish {
  readonly title: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The message that the model gets. */
  readonly hears: string;
}

/** What a model asks for; told no, it says so in the end. */
const WISHES: readonly Wish[] = [
  {
    title: 'a file above the workspace',
    name: 'fs.read',
    args: { path: '../../etc/passwd' },
    hears: 'PathTraversalAttempt',
  },
  { title: 'a file outside', name: 'fs.read', args: { path: '/etc/passwd' }, hears: 'PathOutsideBoundary' },
  {
    title: 'writing outside',
    name: 'fs.write',
    args: { path: '/etc/cron.d/x', content: 'x' },
    hears: 'PathOutsideBoundary',
  },
  { title: 'a search outside', name: 'fs.grep', args: { pattern: 'root', path: '/etc' }, hears: 'PathOutsideBoundary' },
  {
    title: 'a command that is not in its list',
    name: 'cmd.run',
    args: { command: 'nc', args: ['-l'] },
    hears: 'CommandNotAllowed',
  },
  {
    title: 'an argument that is not in its list',
    name: 'cmd.run',
    args: { command: 'sh', args: ['/etc/init'] },
    hears: 'SubcommandNotAllowed',
  },
  {
    title: 'the metadata of the machine',
    name: 'web.fetch',
    args: { url: 'http://169.254.169.254/' },
    hears: 'DomainNotAllowed',
  },
  { title: 'loopback in decimal', name: 'web.fetch', args: { url: 'http://2130706433/' }, hears: 'DomainNotAllowed' },
  { title: 'a tool it was not given', name: 'svc.workflow.run', args: {}, hears: 'ToolNotAllowed' },
  { title: 'arguments of the wrong kind', name: 'fs.read', args: { path: ['/etc/passwd'] }, hears: 'InvalidArguments' },
  { title: 'a flood', name: 'cmd.run', args: { command: 'yes', args: [] }, hears: 'OutputSizeLimitExceeded' },
];

const HELD = 'it was refused';
const inputOf = (at: number): string => `wish-${at}-of-many`;

export const LOOP_RULES = WISHES.flatMap(({ name, args, hears }, at) => [
  {
    match: { contains: inputOf(at), round: 1 },
    reply: { text: '', tool_calls: [{ id: 'c1', name, arguments: args }] },
  },
  { match: { contains: inputOf(at), tool_contains: hears }, reply: HELD },
  { match: { contains: inputOf(at) }, reply: 'it was done' },
]);

export const LOOPS: readonly Escape[] = WISHES.map(({ title }, at) => ({
  title: `a model that asks for ${title}`,
  kind: 'loops',
  async attempt({ node, setup }) {
    const agent = await node.deploy(agentYaml('wishful', HANDS));
    const status = await setup.ended(await node.run(agent, inputOf(at)));
    assert.match(status, new RegExp(HELD));
  },
}));
