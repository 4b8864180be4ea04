/** Where two plans are compared. */
export const COMPARE = "/compare";

export function isComparing(): boolean {
  return SERVED && location.pathname === COMPARE;
}
