/**
 * Why a template or an expression gives no result. `invalid`: it is none, as its check says. `too_long`: the text is
 * longer than allowed. `too_much_work`: it needs more steps, or handles more text on the way, than allowed.
 */
export type TemplateFaultCode = 'invalid' | 'too_long' | 'too_much_work';

export class TemplateError extends Error {
  readonly code: TemplateFaultCode;

  constructor(code: TemplateFaultCode, message: string) {
    super(message);
    this.name = 'TemplateError';
    this.code = code;
  }
}
