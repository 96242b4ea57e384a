import { parentPort, workerData } from 'node:worker_threads';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { z } from 'zod';

/**
 * Converts one page from HTML to Markdown in its own thread, whose memory, stack and time are bounded, so that no page can
 * stop the node. Only `markdown.ts` starts it.
 */

const Given = z.object({ html: z.string(), url: z.string() });

/** Elements without readable content. */
const DROPPED = 'script, style, noscript, template, iframe, object, embed, svg, canvas, link, meta[http-equiv]';

const { html, url } = Given.parse(workerData);
parentPort?.postMessage(convert(html, url));

function convert(text: string, base: string): string {
  const document = documentOf(text);
  for (const dropped of document.querySelectorAll(DROPPED)) dropped.remove();
  for (const [tag, attribute] of [
    ['a', 'href'],
    ['img', 'src'],
  ] as const) {
    for (const element of document.querySelectorAll(tag)) {
      const target = absolute(element.getAttribute(attribute) ?? '', base);
      if (target === null) element.removeAttribute(attribute);
      else element.setAttribute(attribute, target);
    }
  }
  const title = document.querySelector('title')?.textContent?.trim() ?? '';
  const whole = document.body?.innerHTML ?? '';
  // Readability changes the document, so the body is read before.
  const article = new Readability(document).parse();
  const content = article?.content ?? '';
  const chosen = content.trim() === '' ? whole : content;
  const heading = (article?.title ?? '') || title;
  const markdown = turndown().turndown(documentOf(chosen).body).trim();
  return heading === '' || markdown.startsWith('# ') ? markdown : `# ${heading}\n\n${markdown}`.trim();
}

/** linkedom adds no html and body around a fragment. */
function documentOf(text: string) {
  const whole = /<html[\s>]/i.test(text) ? text : `<!doctype html><html><head></head><body>${text}</body></html>`;
  return parseHTML(whole).document;
}

function absolute(reference: string, base: string): string | null {
  const target = URL.parse(reference.trim(), base);
  return target !== null && /^(https?|mailto):$/.test(target.protocol) ? target.href : null;
}

function turndown(): TurndownService {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  service.addRule('cell', { filter: ['th', 'td'], replacement: (text) => `| ${text.trim().replaceAll('\n', ' ')} ` });
  service.addRule('row', { filter: 'tr', replacement: (text) => `${text.trim()} |\n` });
  return service;
}
