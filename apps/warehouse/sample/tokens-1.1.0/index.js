export const accent = '#2f855a';
