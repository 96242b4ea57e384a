import { DEFAULT } from './functions.ts';
import { templateOf } from './parse.ts';
import { type BlockNode, type PathTerm, TemplateError, type TemplateNode, type Term } from './tree.ts';

/** A variable that a template or an expression reads. */
export interface Reference {
  /** From the root of the scope, without brackets. */
  readonly path: readonly string[];
  /** Offset in the text, in UTF-16 units. */
  readonly offset: number;
  /** The author handles its absence: it is tested, is inside a test of itself, or has a default. */
  readonly conditional: boolean;
}

type Path = readonly string[];

/** The values of `this` and block parameters; null where they depend on the data, as inside `#each`. */
interface Frame {
  readonly context: Path | null;
  readonly outer: Frame | null;
  readonly params: ReadonlyMap<string, Path | null>;
  /** Paths that an enclosing test has found. */
  readonly tested: readonly Path[];
}

/** Every reference of a template, as written, in order. Throws TemplateError `invalid`. */
export function templateReferences(text: string): readonly Reference[] {
  const walk = new Walk();
  walk.nodes(templateOf(text).nodes, ROOT);
  return walk.found;
}

/** The references of one term. */
export function termReferences(term: Term): readonly Reference[] {
  const walk = new Walk();
  walk.term(term, ROOT, false);
  return walk.found;
}

const ROOT: Frame = { context: [], outer: null, params: new Map(), tested: [] };

class Walk {
  readonly found: Reference[] = [];

  nodes(nodes: readonly TemplateNode[], frame: Frame): void {
    for (const node of nodes) {
      if (node.kind === 'value') this.term(node.term, frame, false);
      else if (node.kind !== 'text') this.#block(node, frame);
    }
  }

  #block(block: BlockNode, frame: Frame): void {
    const { kind, subject } = block;
    const isTest = kind === 'if' || kind === 'unless' || kind === 'section' || block.otherwise !== null;
    this.term(subject, frame, isTest);
    const path = subject.kind === 'path' ? pathOf(subject, frame) : null;
    const tested: Frame = path === null ? frame : { ...frame, tested: [...frame.tested, path] };
    const isNegated = kind === 'unless';
    this.nodes(block.body, isNegated ? frame : bodyFrame(block, path, tested));
    this.nodes(block.otherwise ?? [], isNegated ? tested : frame);
  }

  term(term: Term, frame: Frame, conditional: boolean): void {
    if (term.kind === 'path') {
      const path = pathOf(term, frame);
      if (path === null || path.length === 0) return;
      const isTested = frame.tested.some((tested) => startsWith(tested, path));
      this.found.push({ path, offset: term.offset, conditional: conditional || isTested });
    } else if (term.kind === 'call') {
      for (const [index, arg] of term.args.entries()) {
        this.term(arg, frame, conditional || (term.name === DEFAULT && index === 0));
      }
    }
  }
}

function bodyFrame(block: BlockNode, path: Path | null, frame: Frame): Frame {
  if (block.kind === 'if') return frame;
  const isList = block.kind !== 'with';
  const context = isList ? null : path;
  const params = new Map(frame.params);
  for (const [index, name] of block.params.entries()) params.set(name, index === 0 ? context : null);
  return { context, outer: frame, params, tested: frame.tested };
}

function pathOf({ base, parts }: PathTerm, frame: Frame): Path | null {
  switch (base.kind) {
    case 'root':
      return parts;
    case 'loop':
      return null;
    case 'param': {
      const start = frame.params.get(base.name) ?? null;
      return start === null ? null : [...start, ...parts];
    }
    case 'context': {
      let at: Frame | null = frame;
      for (let up = 0; up < base.depth && at !== null; up += 1) at = at.outer;
      return at === null || at.context === null ? null : [...at.context, ...parts];
    }
  }
}

const startsWith = (path: Path, start: Path) => start.every((part, index) => path[index] === part);

/**
 * Why a text is not a template: it does not parse, is too long or nested too deep, has a partial or a decorator, an
 * unknown helper, or a helper with the wrong number of arguments. Null when it is one.
 */
export function checkTemplate(text: string): string | null {
  try {
    templateOf(text);
    return null;
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown.message;
    throw thrown;
  }
}
