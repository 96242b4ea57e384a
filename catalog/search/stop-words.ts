/**
 * Words that say nothing about what an agent or workflow does: small words of English, words with which people wrap a
 * question ("I need something that can …"), and what every entry of this catalog is.
 */
const TEXT = `
a about above across after against all along also am among an and any are as at be because been before being below between both but by can could did do does doing done during
each either etc every few for from get give go goes had has have he her here him his how however i if in into is it its
just like make makes many may me might more most much must my need needs no not now of off on one only onto or other our
out over own please put same say she should since so some something such take than that the their them then there these
they thing things this those through to too toward towards under until up upon us use used uses using very via want wants was we well were
what when where whether which while who whom whose why will with within without would yet you your yours
able anybody anyone anything find help helps kindly let lets looking search show somebody someone tell
agent agents workflow workflows`;

export const STOP_WORDS: ReadonlySet<string> = new Set(TEXT.split(/\s+/).filter((word) => word !== ''));
