import type { Rule } from './rule.ts';

export const templateSyntax: Rule = {
  id: 'template_syntax',
  cure: 'Write a Handlebars template; put a backslash before braces that are meant as they are: `\\{{`.',
  *check({ texts }) {
    for (const { path, use, fault } of texts)
      if (fault !== null && use !== 'expression')
        yield { path, message: `the template cannot be rendered, so the state will fail: ${fault}` };
  },
};

export const expressionSyntax: Rule = {
  id: 'expression_syntax',
  cure: 'Compare values with <, >, <=, >=, ==, != and join with &&, || and !; texts stand in quotes.',
  *check({ texts }) {
    for (const { path, use, fault } of texts)
      if (fault !== null && use === 'expression')
        yield { path, message: `the expression cannot be evaluated: ${fault}` };
  },
};
