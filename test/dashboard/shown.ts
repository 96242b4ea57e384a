import type { Locator, Page } from 'playwright-core';
import { waitUntil } from '../support/wait-until.ts';

/** Higher than any list of these tests: all rows are in the document. */
export const TALL = { viewport: { width: 1_300, height: 9_000 } } as const;

/** Cells of the rows of a table, once it has the expected number of rows. */
export async function rowsOf(page: Page, table: string, count: number): Promise<string[][]> {
  const found = page.getByRole('table', { name: table });
  await waitUntil(
    `${count} rows of ${table} on ${page.url()}`,
    async () =>
      (await found.getAttribute('aria-rowcount', { timeout: 20_000 })) === String(count + 1) &&
      (await found.getByRole('row').count()) === count + 1,
    60_000,
  );
  const rows = await found.getByRole('row').all();
  const cells = await Promise.all(rows.slice(1).map((row) => row.getByRole('cell').allInnerTexts()));
  return cells.map((texts) => texts.map((text) => text.trim()));
}

/** Cells of the one row with that text, of a table of few rows. */
export async function rowWith(page: Page, table: string, text: string): Promise<string[]> {
  const row = page.getByRole('region', { name: table, exact: true }).getByRole('row').filter({ hasText: text });
  await row.waitFor();
  return (await row.getByRole('cell').allInnerTexts()).map((cell) => cell.trim());
}

/** Figures of a run by their names. */
export async function factsOn(page: Page): Promise<Readonly<Record<string, string>>> {
  const names = await page.locator('.facts dt').allTextContents();
  const values = await page.locator('.facts dd').allTextContents();
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}

/** Numbers and names of the events that a page of a run shows. */
export const eventsOn = async (page: Page, count: number): Promise<string[]> =>
  (await rowsOf(page, 'Events', count)).map(([number, , name]) => `${number} ${name}`);

/** A text of lines with marks at their begin, without what was removed and without the marks. */
export async function markedText(differences: Locator): Promise<string> {
  const lines = await differences.locator('.same, .added').all();
  const texts = await Promise.all(
    lines.map((line) => line.evaluate((element) => element.lastChild?.textContent ?? '')),
  );
  return texts.join('\n');
}
