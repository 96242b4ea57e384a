import { tagsOfPool } from '../../runtime/placement.ts';
import type { MemberCard } from './card.ts';

/** Whether a member may serve a pool (design P1). A draining one serves nothing. */
export function isEligible(pool: string, card: MemberCard): boolean {
  if (card.draining) return false;
  if (pool === 'system') return card.role !== 'worker';
  return card.role !== 'controller' && tagsOfPool(pool).every((tag) => card.tags.includes(tag));
}
