import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { svcProgram } from '../../../cli/program.ts';
import { MANAGEMENT_CONTRACTS } from '../../../tools/management/contracts.ts';
import { ESCAPES, OPERATIONS } from '../../../usecases/operations.ts';
import { SURFACE } from '../../product/surface.ts';
import { linesOf, projectFiles } from '../../support/tree.ts';
import { describedNode } from './whole-node.ts';

/** Tools whose results the specification fixes in another shape than REST answers (W34–W41). */
const OWN_CONTRACT = /^svc\.(?:agent|workflow|execute|schema|system|runtime|task|trace)(?:\.|$)/;

/** Commands that are not in the table, with the reason. */
const OTHER_COMMANDS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^(?:start|completion|version|node (?:init|join|leave)|audit verify|open|secret add-key)$/,
    'it needs no node, or is about this machine',
  ],
  [/^(?:logout|context (?:list|use|remove))$/, 'saved contexts are a file of this machine'],
  [/^tap$/, 'a stream of events'],
  [/^trace show$/, 'the route behind it can be a stream of lines'],
  [/^volume (?:ls|put|get)$/, 'files are streams of bytes'],
  [/^(?:session|audit|tools|system|schema|runtime) /, 'a tool or a session, each with a contract of its own'],
  [/^(?:agent|workflow|execute|stimulus|node) |^(?:run|apply)$/, 'the route behind it is an escape of the table'],
];

/** Methods of gRPC that are not in the table, with the reason. */
const OTHER_METHODS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:ValidateWithJudges|ExecuteSystemCommand)$/, 'the caller waits for the end, and its cancel ends the work'],
  [/^IngestStimulus$/, 'the route behind it is an escape of the table'],
  [/^(?:AttestAgent|InvokeTool)$/, 'an envelope says who calls'],
  [/^Generate$/, 'programs of agents, on the internal address'],
  [/^(?:\w+Node|Heartbeat|RouteExecution|ForwardExecution|SyncConfig|PushConfig|ListPeers)$/, 'between nodes'],
];

const leaves = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]));

const routeOf = ({ rest: { method, path } }: (typeof OPERATIONS)[number]): string =>
  `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;

describe('the table of operations', () => {
  it('names each operation once, as resource.verb, with a summary and a route of its own', () => {
    const names = OPERATIONS.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(
      names.filter((name) => !/^[a-z_]+\.[a-z_]+$/.test(name)),
      [],
    );
    const routes = OPERATIONS.map(routeOf);
    assert.equal(new Set(routes).size, routes.length);
  });

  it('has every route of the product, or its escape says why not', async () => {
    const { operationIds } = await describedNode();
    const named = Object.fromEntries(OPERATIONS.map((one) => [routeOf(one), one.name]));
    const others = Object.entries(operationIds).filter(([route]) => named[route] === undefined);
    assert.deepEqual(others.map(([, id]) => id).sort(), Object.keys(ESCAPES).sort());
    assert.ok(Object.values(ESCAPES).every((why) => why !== ''));
    assert.deepEqual(Object.keys(operationIds).sort(), Object.keys(SURFACE).sort());
    for (const [route, name] of Object.entries(named)) assert.equal(operationIds[route], name);
  });

  it('gives every route of the API description an operationId of its own, as resource.verb', async () => {
    const ids = Object.values((await describedNode()).operationIds);
    assert.deepEqual(
      ids.filter((id) => !/^[a-z_]+\.[a-z_]+$/.test(id ?? '')),
      [],
    );
    assert.equal(new Set(ids).size, ids.length);
  });

  it('asks for the role that the product asks for', () => {
    const other = OPERATIONS.filter((one) => SURFACE[routeOf(one)]?.access !== one.access);
    assert.deepEqual(
      other.map(({ name }) => name),
      [],
    );
  });

  it('names tools and commands that are there', async () => {
    const tools = new Set<string>(MANAGEMENT_CONTRACTS.map(({ name }) => name));
    assert.deepEqual(
      OPERATIONS.flatMap(({ tool = [] }) => tool).filter((tool) => !tools.has(tool)),
      [],
    );
    const commands = new Set(leaves(await svcProgram()));
    assert.deepEqual(
      OPERATIONS.flatMap(({ commands: named = [] }) => named).filter((one) => !commands.has(one)),
      [],
    );
    const named = new Set(OPERATIONS.flatMap(({ tool = [] }) => tool));
    assert.deepEqual(
      [...tools].filter((tool) => !named.has(tool) && !OWN_CONTRACT.test(tool)),
      [],
    );
    const shown = new Set(OPERATIONS.flatMap(({ commands: some = [] }) => some));
    assert.deepEqual(
      [...commands].filter((one) => !shown.has(one) && !OTHER_COMMANDS.some(([pattern]) => pattern.test(one))),
      [],
    );
  });

  it('names every method of gRPC, or its escape says why not', () => {
    const methods = projectFiles('.proto').flatMap((file) =>
      linesOf(file).flatMap((line) => /^\s*rpc (\w+)/.exec(line)?.[1] ?? []),
    );
    const shown = OPERATIONS.flatMap(({ grpc = [] }) => grpc);
    assert.deepEqual(
      shown.filter((one) => !methods.includes(one)),
      [],
    );
    assert.deepEqual(
      methods.filter((one) => !shown.includes(one) && !OTHER_METHODS.some(([pattern]) => pattern.test(one))),
      [],
    );
  });
});
