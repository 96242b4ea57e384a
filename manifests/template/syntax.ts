import { createRequire } from 'node:module';

type Handlebars = typeof import('handlebars');

const load = createRequire(import.meta.url);
let library: Handlebars | null = null;

/** Text of a template as Handlebars' syntax tree; throws its error. Loaded with the first: an idle node does not carry it. */
export function parseSyntax(text: string): hbs.AST.Program {
  const loaded: Handlebars = library ?? load('handlebars');
  library = loaded;
  return loaded.parse(text);
}
