import { lateLibrary } from '../late-library.ts';

const handlebars = lateLibrary<typeof import('handlebars')>('handlebars');

/** Text of a template as Handlebars' syntax tree; throws its error. */
export const parseSyntax = (text: string): hbs.AST.Program => handlebars().parse(text);
