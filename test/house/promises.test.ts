import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import {
  isArrowFunction,
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isConstructorDeclaration,
  isForOfStatement,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isMethodDeclaration,
  isNewExpression,
  isPropertyAccessExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { API, type Project } from 'typescript/unstable/sync';

type SyntaxNode = Parameters<typeof isAwaitExpression>[0];

const ROOT = join(import.meta.dirname, '..', '..');
const NOT_PRODUCT = /^(test|bench|examples|node_modules|proto\/gen)\//;
/** What another file sees to. */
const LISTENED_ELSEWHERE: Readonly<Record<string, string>> = {
  'runtime/calls/mailbox-client.ts answer': 'PendingAsks.add listens to each answer before it hands it out',
};

const isFunction = (node: SyntaxNode): boolean =>
  [isFunctionDeclaration, isFunctionExpression, isArrowFunction, isMethodDeclaration, isConstructorDeclaration].some(
    (is) => is(node),
  );

/**
 * A promise that is begun, and rejects while its function awaits something else first, has no listener: Node.js ends the
 * process. So it must be awaited, or listened to, before anything else is awaited.
 */
test('no function awaits something else between the begin of a promise and its first listener', () => {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProject: join(ROOT, 'tsconfig.json') }).getProjects();
    assert.ok(project !== undefined);
    const found: string[] = [];
    let looked = 0;
    for (const path of project.rootFiles) {
      const file = relative(ROOT, path);
      if (NOT_PRODUCT.test(file)) continue;
      const source = project.program.getSourceFile(path);
      if (source === undefined) continue;
      looked += 1;
      forEachFunction(source, (node) => {
        for (const { name, at } of unheard(project, node)) {
          const line = source.text.slice(0, at).split('\n').length;
          if (LISTENED_ELSEWHERE[`${file} ${name}`] === undefined) found.push(`${file}:${line} ${name}`);
        }
      });
    }
    assert.ok(looked > 500, `only ${looked} files were looked at`);
    assert.deepEqual(found, []);
  } finally {
    api.close();
  }
});

function forEachFunction(node: SyntaxNode, look: (node: SyntaxNode) => void): void {
  if (isFunction(node)) look(node);
  node.forEachChild((child) => forEachFunction(child, look));
}

/** Variables of one function that hold a promise while it awaits another one. */
function unheard(project: Project, within: SyntaxNode): { readonly name: string; readonly at: number }[] {
  const awaits: SyntaxNode[] = [];
  const names: { readonly node: SyntaxNode; readonly text: string; readonly end: number }[] = [];
  const gather = (node: SyntaxNode): void => {
    if (isFunction(node)) return;
    if (isAwaitExpression(node)) awaits.push(node);
    if (isForOfStatement(node) && node.awaitModifier !== undefined) awaits.push(node.expression);
    if (isVariableDeclaration(node) && node.initializer !== undefined && !isHeard(node.initializer)) {
      for (const name of namesIn(node.name)) names.push({ ...name, end: node.end });
    }
    node.forEachChild(gather);
  };
  within.forEachChild(gather);
  return names.flatMap(({ node, text, end }) => {
    const next = awaits.filter(({ pos }) => pos >= end).sort((a, b) => a.pos - b.pos)[0];
    if (next === undefined) return [];
    const used = firstUse(within, text, end);
    if (used !== null && used < next.end) return [];
    const type = project.checker.getTypeAtLocation(node);
    if (type === undefined) return [];
    // Of a union with null or undefined the text tells.
    const isPromise = project.checker.getPropertyOfType(type, 'then') !== undefined;
    const mayBe = /^Promise<.*> \| (null|undefined)$/.test(project.checker.typeToString(type));
    return isPromise || mayBe ? [{ name: text, at: node.end }] : [];
  });
}

/** `await x`, `x.catch(…)`, `x.then(a, b)`, and a promise that only resolves. */
function isHeard(begun: SyntaxNode): boolean {
  if (isAwaitExpression(begun)) return true;
  if (isNewExpression(begun)) {
    const [executor] = begun.arguments ?? [];
    return executor !== undefined && isArrowFunction(executor) && executor.parameters.length < 2;
  }
  if (!isCallExpression(begun) || !isPropertyAccessExpression(begun.expression)) return false;
  const { text } = begun.expression.name;
  return text === 'catch' || (text === 'then' && begun.arguments.length === 2);
}

function namesIn(node: SyntaxNode): { readonly node: SyntaxNode; readonly text: string }[] {
  if (isIdentifier(node)) return [{ node, text: node.text }];
  const found: { readonly node: SyntaxNode; readonly text: string }[] = [];
  node.forEachChild((child) => {
    if (isBindingElement(child) && child.name !== undefined) found.push(...namesIn(child.name));
  });
  return found;
}

function firstUse(within: SyntaxNode, text: string, from: number): number | null {
  let first: number | null = null;
  const look = (node: SyntaxNode): void => {
    if (isIdentifier(node) && node.text === text && node.pos >= from) first = Math.min(first ?? node.pos, node.pos);
    node.forEachChild(look);
  };
  within.forEachChild(look);
  return first;
}
