import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';
import { IMAGES, OUTLINES, openPage, outlineOf, PicturedDemo } from './pictures/pictured-demo.ts';

const MOST_BYTES = 1_500_000;

const Outlines = z.record(z.string(), z.array(z.string()));

const recorded = async () => Outlines.parse(parse(await readFile(OUTLINES, 'utf8')));

test('pages have the same content as when their pictures were made', { skip: browserMissing() }, async () => {
  await built();
  await using setup = await PicturedDemo.start();
  await using browser = await DashboardBrowser.start();
  await using tab = await browser.open(setup.url);
  const found: Record<string, string[]> = {};
  for (const picture of await setup.pages()) {
    await openPage(tab.page, setup.url, picture);
    found[picture.name] = await outlineOf(tab.page);
  }
  assert.deepEqual(found, await recorded(), 'the pictures of docs/images/dashboard are old: run "npm run pictures"');
  assert.deepEqual(tab.complaints, []);
});

test('each picture is small, is used in the docs, and has an outline', async () => {
  const files = (await readdir(IMAGES)).filter((name) => name.endsWith('.webp'));
  assert.deepEqual(
    files.toSorted(),
    Object.keys(await recorded())
      .map((name) => `${name}.webp`)
      .toSorted(),
  );
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(IMAGES, name))).size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total <= MOST_BYTES, `${total} bytes`);
  const pages = ['README.md', 'docs/guides/dashboard.md', 'docs/guides/why-did-my-run-do-that.md'];
  const texts = (await Promise.all(pages.map((page) => readFile(page, 'utf8')))).join('\n');
  assert.deepEqual(
    files.filter((name) => !texts.includes(`images/dashboard/${name}`)),
    [],
  );
});
