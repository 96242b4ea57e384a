import { parse } from 'yaml';

/** Keys of a manifest whose texts say what an agent or a workflow does, beside its metadata. */
const TELLING = new Set(['instruction', 'prompt_template', 'prompt', 'input', 'intent', 'agent', 'content']);
const KEY = /^ *(?:- )*"?([a-z_]+)"?:(?: +(.*))?$/;
/** A value in flow style, an anchor or an alias. */
const FLOW = /[:-] +[{[&*]/;
const TELLING_INSIDE = new RegExp(`\\b(?:${[...TELLING].join('|')})"?:`);
const CLOSED = /[}\]]\s*$/;
const BLOCK = /^[|>][+-]?\d?[+-]?\s*(#.*)?$/;
const MAX_DEPTH = 20;
const MAX_CHARS = 16_384;

/**
 * What a manifest tells an agent to do: the words of its instructions and prompts. Reads the usual block style line by
 * line, ten times as fast as a YAML parser, for only words are wanted; anything else goes through the parser.
 */
export function tellingText(manifestYaml: string): string {
  const quick = quickly(manifestYaml);
  return (quick ?? thoroughly(manifestYaml)).slice(0, MAX_CHARS);
}

/** Null when it is written in another style. */
function quickly(manifestYaml: string): string | null {
  if (/^\s*[{"]/.test(manifestYaml)) return null;
  const texts: string[] = [];
  /** Indentation of the key whose text goes on, or -1. */
  let within = -1;
  for (const line of manifestYaml.split('\n')) {
    const indent = line.search(/\S/);
    if (indent === -1) continue;
    if (within >= 0 && indent > within) {
      texts.push(line);
      continue;
    }
    within = -1;
    if (FLOW.test(line)) {
      // `task: {instruction: do it}`; labels and the like hold nothing of interest.
      if (TELLING_INSIDE.test(line) || !CLOSED.test(line)) return null;
      continue;
    }
    const [, key = '', value = ''] = KEY.exec(line.trimEnd()) ?? [];
    if (!TELLING.has(key)) continue;
    within = indent;
    if (!BLOCK.test(value)) texts.push(value);
  }
  return texts.join('\n');
}

function thoroughly(manifestYaml: string): string {
  const texts: string[] = [];
  const visit = (value: unknown, isTelling: boolean, depth: number): void => {
    if (typeof value === 'string') {
      if (isTelling) texts.push(value);
    } else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      for (const [key, inner] of Object.entries(value)) visit(inner, isTelling || TELLING.has(key), depth + 1);
    }
  };
  visit(parsed(manifestYaml), false, 0);
  return texts.join('\n');
}

/** It was read when it was deployed; of one that a later parser refuses, all words count. */
function parsed(manifestYaml: string): unknown {
  try {
    return parse(manifestYaml);
  } catch {
    return { content: manifestYaml };
  }
}
