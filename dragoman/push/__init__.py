"""Push notifications: configurations as callers set them, and the deliveries that follow from them (section 4.3)."""
