/**
 * `npm run pictures`: makes the pictures of docs/images/dashboard from the data of `npm run demo`, and records their outlines.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { browserMissing, DashboardBrowser } from '../browser.ts';
import { built } from '../built.ts';
import { IMAGES, OUTLINES, openPage, outlineOf, PicturedDemo } from './pictured-demo.ts';

const [WIDTH_PX, HEIGHT_PX] = [1_200, 750];
const LOOK = { colorScheme: 'light', timezoneId: 'UTC' } as const;
const PIXELS_A_POINT = 1.5;
const QUALITY = 80;

const Captured = z.object({ data: z.string() });

const missing = browserMissing();
if (missing !== false) throw new Error(missing);
await built();
await mkdir(IMAGES, { recursive: true });
await using setup = await PicturedDemo.start();
await using browser = await DashboardBrowser.start();
await using tab = await browser.open(setup.url, { ...LOOK, deviceScaleFactor: PIXELS_A_POINT });
const outlines: Record<string, readonly string[]> = {};
for (const picture of await setup.pages()) {
  await tab.page.setViewportSize({ width: WIDTH_PX, height: picture.heightPx ?? HEIGHT_PX });
  await openPage(tab.page, setup.url, picture);
  outlines[picture.name] = await outlineOf(tab.page);
  const session = await tab.page.context().newCDPSession(tab.page);
  const { data } = Captured.parse(
    await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY, captureBeyondViewport: false }),
  );
  const bytes = Buffer.from(data, 'base64');
  await writeFile(join(IMAGES, `${picture.name}.webp`), bytes);
  console.log(`${picture.name}.webp  ${Math.round(bytes.length / 1_000)} kB`);
}
await writeFile(OUTLINES, stringify(outlines));
